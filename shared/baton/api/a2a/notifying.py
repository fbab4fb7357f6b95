"""Push notifications: the receivers of a thread's change, and the requests to them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any

from a2a.compat.v0_3 import conversions
from a2a.types import StreamResponse, Task
from aws_lambda_powertools import Logger
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from pydantic import Field, TypeAdapter

from baton.api.a2a.json_text import with_whole_numbers
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask, as_of
from baton.api.a2a.wire import message_of, task_of
from baton.composition.app import App
from baton.composition.ports import Ports
from baton.domain.errors import BatonError, InternalError, ThreadUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.threads.a2a_task import TaskId
from baton.domain.threads.push_config import (
    MAX_RECEIVES,
    ChangeKind,
    Line,
    PushConfig,
    PushNotice,
    TaskChange,
    pause_after,
)
from baton.domain.threads.thread import Thread
from baton.failures.reports import ExpectedFailure
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable
from baton.tenants.registry.agent_registry import AgentRegistry

TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - its name
SIGNATURE_HEADER = "X-A2A-Notification-Signature"
SIGNED_FOR = timedelta(minutes=5)
"""The time for which a signature is valid."""
MAX_BYTES = 256 * 1024
"""The largest size of a task's messages in a notification. The newest message is always sent."""
RETRIED = frozenset({408, 425, 429})
"""Statuses below 500 after which a later attempt may succeed."""
GONE = 410

logger = Logger(child=True)
_RECORD: TypeAdapter[TaskChange | PushNotice] = TypeAdapter(
    Annotated[TaskChange | PushNotice, Field(discriminator="record")]
)


class NotYet(ExpectedFailure):
    """The record must be delivered again later. The message is for the log."""


@dataclass(frozen=True, slots=True)
class Notifications:
    """The sender of queued changes: each becomes a notification for each configuration, sent by itself.

    So a receiver that does not answer delays no other one.
    """

    ports: Ports
    agents: AgentRegistry

    @classmethod
    def of(cls, app: App) -> Notifications:
        """Return the sender over the ports of ``app``."""
        return cls(app.ports, app.agents)

    async def run(self, body: str, receipt_handle: str, receives: int) -> None:
        """Carry out one record. Raises if the queue must deliver it again, after a pause that the queue gets."""
        try:
            record = _RECORD.validate_json(body)
            logger.append_keys(tenant=record.tenant_id, thread_id=record.thread_id)
            if isinstance(record, TaskChange):
                await self._spread(record)
            else:
                await self._send(record)
        except (NotYet, BatonError):
            if receives >= MAX_RECEIVES:
                count(Metric.NOTIFICATIONS_FAILED)
            await self.ports.push_queue.retry(receipt_handle, pause_after(receives))
            raise

    # A change

    async def _spread(self, change: TaskChange) -> None:
        """Queue a notification for each configuration of the tasks that the change concerns."""
        if not self.ports.webhooks.is_on:
            return
        configs = await self.ports.push_configs.of_thread(change.scope, change.thread_id)
        configs = [config for config in configs if change.root in (None, config.root)]
        if not configs:
            return
        await self._check_stored(change)
        about: dict[str, Any] = change.model_dump(exclude={"record"})
        for root in sorted({config.root for config in configs}):
            if await self._find_concerned(change, root) is None:
                continue
            for config in configs:
                if config.root == root:
                    await self.ports.push_queue.send(PushNotice(**about, task=root, config_id=config.id))

    async def _check_stored(self, change: TaskChange) -> None:
        """Raise ``NotYet`` while what the change announces is not in the store."""
        try:
            thread = await self.ports.store.get_thread(change.scope, change.thread_id)
        except ThreadUnavailable:
            return
        if change.kind is ChangeKind.ENDED and _is_running(thread, change.run_id):
            raise NotYet("the run has not been committed")
        lease, now = thread.lease, self.ports.clock.now()
        is_held = lease is not None and lease.fence == change.fence and lease.until > now
        if change.kind is ChangeKind.CLOSED and is_held:
            raise NotYet("the session has not been closed")
        is_beginning = change.kind is ChangeKind.BEGAN and _is_running(thread, change.run_id)
        if is_beginning and change.root is not None and await self._find_concerned(change, change.root) is None:
            raise NotYet("the message has not been stored")

    async def _find_concerned(self, change: TaskChange | PushNotice, root: str) -> A2ATask | None:
        """Return the task as the change has left it; None if it does not concern it, or if the task is gone."""
        task = await TaskReader(self.ports).read(change.scope, TaskId(change.thread_id, root))
        if task is None or task.user_id != change.user_id:
            return None
        return as_of(task, change)

    # A notification

    async def _send(self, notice: PushNotice) -> None:
        """Send a notification, or give it up. Raises ``NotYet`` if a later attempt may succeed."""
        ports, scope = self.ports, notice.scope
        config = await ports.push_configs.get(scope, notice.thread_id, notice.task, notice.config_id)
        if config is None or not ports.webhooks.is_on:
            return  # it was removed meanwhile
        task = await self._find_concerned(notice, notice.task)
        if task is None:
            return  # it was forgotten meanwhile
        if (refusal := ports.webhooks.refusal(config.url)) is not None:
            _give_up(refusal)
            return
        agents = await self.agents.of(scope)
        body = await asyncio.to_thread(_body, task_of(_shorten(task), agents.describe), config.line)
        try:
            status = await ports.webhooks.post(config.url, body, await self._headers(notice, config, body))
        except WebhookRefused as refused:
            _give_up(str(refused))
            return
        except WebhookUnreachable as failed:
            raise NotYet(f"no answer: {failed}") from None
        if 200 <= status < 300:
            return
        if status >= 500 or status in RETRIED:
            raise NotYet(f"status {status}")
        if status == GONE:
            await ports.push_configs.delete(scope, notice.thread_id, notice.task, notice.config_id)
        _give_up(f"status {status}")

    async def _headers(self, notice: PushNotice, config: PushConfig, body: bytes) -> dict[str, str]:
        """Return the headers: the client's token and authentication, and the deployment's signature."""
        now = self.ports.clock.now()
        try:
            signature = await self.ports.signing_key.sign(
                {
                    "iss": self.ports.push_issuer,
                    "aud": config.url,
                    "iat": int(now.timestamp()),
                    "exp": int((now + SIGNED_FOR).timestamp()),
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


def _is_running(thread: Thread, run_id: str | None) -> bool:
    return thread.run is not None and thread.run.run_id == run_id


def _give_up(reason: str) -> None:
    logger.warning("notification given up", reason=reason)
    count(Metric.NOTIFICATIONS_FAILED)


def _shorten(task: A2ATask) -> A2ATask:
    """Return the task with its newest messages only."""
    room, first = MAX_BYTES, len(task.messages)
    while first > 0:
        room -= message_of(task.messages[first - 1], task.id).ByteSize()
        if room < 0 and first < len(task.messages):
            break
        first -= 1
    return replace(task, messages=task.messages[first:])


def _body(task: Task, line: Line) -> bytes:
    """Return the request's body: the task (0.3), or the task as an event of a stream (1.0)."""
    value: Any
    if line is Line.OLDER:
        value = conversions.to_compat_task(task).model_dump(mode="json", by_alias=True, exclude_none=True)
    else:
        value = MessageToDict(StreamResponse(task=task))
    return json.dumps(with_whole_numbers(value), ensure_ascii=False, separators=(",", ":")).encode()
