"""Push notifications of A2A tasks: the receivers of a thread's change, and the requests to them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.types import StreamResponse, Task
from aws_lambda_powertools import Logger
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from baton.api.a2a.json_text import with_whole_numbers
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask, as_of
from baton.api.a2a.wire import to_message, to_task
from baton.composition.ports import Ports
from baton.domain.errors import InternalError
from baton.domain.metrics import Metric, count
from baton.domain.threads.a2a_task import TaskId
from baton.domain.threads.push_config import Line, PushConfig, PushNotice
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_change import ChangeKind, ThreadChange
from baton.failures.reports import NotYet
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable
from baton.ports.clock import read_machine_time
from baton.tenants.registry.agent_registry import AgentRegistry

TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - its name
SIGNATURE_HEADER = "X-A2A-Notification-Signature"
SIGNATURE_VALIDITY = timedelta(minutes=5)
"""The time for which a signature is valid."""
MAX_BYTES = 256 * 1024
"""Bytes of a task's messages in a notification. The newest message is always sent."""
RETRIED_STATUSES = frozenset({408, 425, 429})
"""Statuses below 500 after which a later attempt may succeed."""
GONE = 410
"""The status with which a receiver declines further notifications."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class TaskNotices:
    """Notices of changed A2A tasks, which are queued and sent.

    Each configuration has a separate notice, so that a receiver that does not answer does not delay other receivers.
    """

    ports: Ports
    agents: AgentRegistry

    async def list_configs(self, change: ThreadChange) -> Sequence[PushConfig]:
        """Return the configurations that a change may concern; none if notifications are switched off."""
        if not self.ports.webhooks.is_on:
            return ()
        configs = await self.ports.push_configs.of_thread(change.scope, change.thread_id)
        return [config for config in configs if change.root in (None, config.root)]

    async def queue_notices(self, change: ThreadChange, thread: Thread | None, configs: Sequence[PushConfig]) -> None:
        """Queue a notice for each configuration of the tasks that a change concerns.

        ``thread`` is the changed thread; None if it does not exist. Raises ``NotYet`` if a run has begun whose message
        is not stored yet.
        """
        is_beginning = change.kind is ChangeKind.BEGAN and thread is not None and thread.is_in_run(change.run_id)
        if is_beginning and change.root is not None and await self._find_concerned_task(change, change.root) is None:
            raise NotYet("the message has not been stored")
        fields: dict[str, Any] = change.model_dump(exclude={"record"})
        for root in sorted({config.root for config in configs}):
            if await self._find_concerned_task(change, root) is None:
                continue
            for config in configs:
                if config.root == root:
                    await self.ports.push_queue.send(PushNotice(**fields, task=root, config_id=config.id))

    async def _find_concerned_task(self, change: ThreadChange | PushNotice, root: str) -> A2ATask | None:
        """Return the task after the change; None if the change does not concern it, or if it was deleted."""
        task = await TaskReader(self.ports).read(change.scope, TaskId(change.thread_id, root))
        if task is None or task.user_id != change.user_id:
            return None
        return as_of(task, change)

    async def send(self, notice: PushNotice) -> None:
        """Send a notice, or give it up. A notice of a removed configuration or task is dropped.

        Raises ``NotYet`` if a later attempt may succeed, and ``InternalError`` if the signing key cannot be read.
        """
        ports, scope = self.ports, notice.scope
        config = await ports.push_configs.get(scope, notice.thread_id, notice.task, notice.config_id)
        if config is None or not ports.webhooks.is_on:
            return  # the configuration was removed, or notifications were switched off
        task = await self._find_concerned_task(notice, notice.task)
        if task is None:
            return  # the task was forgotten meanwhile
        if (reason := ports.webhooks.find_refusal(config.url)) is not None:
            _give_up(reason)
            return
        served = await to_task(_shorten(task), self.agents, scope)
        body = await asyncio.to_thread(_make_body, served, config.line)
        try:
            status = await ports.webhooks.post(config.url, body, await self._make_headers(notice, config, body))
        except WebhookRefused as refusal:
            _give_up(str(refusal))
            return
        except WebhookUnreachable as failure:
            raise NotYet(f"no answer: {failure}") from None
        if 200 <= status < 300:
            return
        if status >= 500 or status in RETRIED_STATUSES:
            raise NotYet(f"status {status}")
        if status == GONE:
            await ports.push_configs.delete(scope, notice.thread_id, notice.task, notice.config_id)
        _give_up(f"status {status}")

    async def _make_headers(self, notice: PushNotice, config: PushConfig, body: bytes) -> dict[str, str]:
        """Return the headers: the client's token and authentication, and the deployment's signature."""
        now = read_machine_time(self.ports.clock)
        try:
            signature = await self.ports.signing_key.sign(
                {
                    "iss": self.ports.push_issuer,
                    "aud": config.url,
                    "iat": int(now.timestamp()),
                    "exp": int((now + SIGNATURE_VALIDITY).timestamp()),
                    "jti": hashlib.sha256(f"{notice.group}\0{notice.name}".encode()).hexdigest(),
                    "task_id": str(notice.task_id),
                    "request_body_sha256": hashlib.sha256(body).hexdigest(),
                }
            )
        except InternalError:
            count(Metric.KEYS_UNREADABLE)
            raise
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: signature}
        if config.token is not None:
            headers[TOKEN_HEADER] = config.token
        if config.scheme is not None and config.credentials is not None:
            headers["Authorization"] = f"{config.scheme} {config.credentials}"
        else:
            headers["Authorization"] = f"Bearer {signature}"
        return headers


def _give_up(reason: str) -> None:
    logger.warning("notification given up", reason=reason)
    count(Metric.NOTIFICATIONS_FAILED)


def _shorten(task: A2ATask) -> A2ATask:
    """Return the task with its newest messages, up to ``MAX_BYTES``."""
    room, first = MAX_BYTES, len(task.messages)
    while first > 0:
        room -= to_message(task.messages[first - 1], task.id).ByteSize()
        if room < 0 and first < len(task.messages):
            break
        first -= 1
    return replace(task, messages=task.messages[first:])


def _make_body(task: Task, line: Line) -> bytes:
    """Return the request's body: the task (0.3), or the task as an event of a stream (1.0)."""
    value: Any
    if line is Line.OLDER:
        value = conversions.to_compat_task(task).model_dump(mode="json", by_alias=True, exclude_none=True)
    else:
        value = MessageToDict(StreamResponse(task=task))
    return json.dumps(with_whole_numbers(value), ensure_ascii=False, separators=(",", ":")).encode()
