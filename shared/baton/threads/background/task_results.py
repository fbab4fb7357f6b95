"""Changes and ends of tasks in the background: each result begins one run in its conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.errors import StoreUnavailable
from baton.domain.schedules.background_task import (
    BackgroundKind,
    BackgroundStatus,
    BackgroundTask,
    derive_result_message_id,
    shorten_result,
)
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id
from baton.domain.text import replace_surrogates
from baton.domain.threads.events import make_background_changed, make_unsequenced
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.background import BackgroundTasks
from baton.ports.threads.connections import Connections, LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.threads.outbox.connection_sender import send_to_all
from baton.threads.requests.queue_mapping import make_queued_message, make_queued_task_check

NO_RESULT = "It has ended without a result."
ATTEMPTS = 8
"""Attempts at a change while others change the same task."""


@dataclass(frozen=True, slots=True)
class TaskResults:
    """Changes and ends of tasks. A result begins only one run, because the task determines its message's id."""

    tasks: BackgroundTasks
    store: ThreadStore
    queue: Callable[[], TurnQueue]
    live: LiveRegistry
    connections: Connections
    audit: AuditLog
    clock: Clock

    async def report(
        self, scope: Scope, thread_id: str, task: BackgroundTask, status: BackgroundStatus, text: str
    ) -> None:
        """End a task, whose result begins a run in its conversation.

        The message is queued first. If this worker dies in between, the message is queued again, and its id prevents a
        second run.
        """
        message_id = derive_result_message_id(thread_id, task.id)
        run_id = derive_run_id(thread_id, message_id)
        result_text = shorten_result(replace_surrogates(text.strip())) or NO_RESULT
        request = MessageRequest(
            ThreadRef(thread_id, may_create=False),
            message_id,
            run_id,
            result_text if status is BackgroundStatus.COMPLETED else f"[{status.value}] {result_text}",
            begun_by=RunSource(CauseKind.TASK, task.id, type=task.name),
        )
        entered = await self._find_entered(scope, thread_id, message_id)
        if entered is None:
            await self.queue().send(scope, make_queued_message(scope, request, request_id=message_id))
        else:  # an earlier report, whose worker died before it could store the end
            status = entered
        while await self.replace(scope, thread_id, task, task.end(status, self.clock.now(), run_id)) is None:
            current = await self.tasks.get(scope, thread_id, task.id)
            if current is None or not current.is_open:
                return
            task = current
        detail = {"taskId": task.id, "runId": run_id}
        await self.audit.record(scope, "background.end", thread_id=thread_id, outcome=status.value, detail=detail)

    async def replace(
        self, scope: Scope, thread_id: str, task: BackgroundTask, changed: BackgroundTask
    ) -> BackgroundTask | None:
        """Store a change of a task, and return the stored task; None if somebody has changed it since it was read.

        The connections of the conversation are notified of a new status or progress.
        """
        stored_task = replace(changed, revision=task.revision + 1)
        if not await self.tasks.replace(scope, thread_id, stored_task):
            return None
        if (task.status, task.progress) != (stored_task.status, stored_task.progress):
            event = make_unsequenced(make_background_changed(stored_task), threadId=thread_id)
            await send_to_all(self.live, self.connections, self.clock, scope, thread_id, event)
        return stored_task

    async def change(self, scope: Scope, thread_id: str, task_id: str, **fields: Any) -> BackgroundTask | None:
        """Change fields of an open task, and return it; None if it has ended. Raises ``StoreUnavailable``."""
        for _ in range(ATTEMPTS):
            current = await self.tasks.get(scope, thread_id, task_id)
            if current is None or not current.is_open:
                return None
            stored_task = await self.replace(scope, thread_id, current, replace(current, **fields))
            if stored_task is not None:
                return stored_task
        raise StoreUnavailable

    async def have_read(self, scope: Scope, thread_id: str, task: BackgroundTask, name: str | None = None) -> None:
        """Have a worker read the state of a task, if it can be read: workers have the secrets for that.

        The queue drops repetitions of the same ``name``.
        """
        if task.kind is BackgroundKind.REMOTE_AGENT:
            can_read = task.is_open or task.location is not None
        else:
            can_read = task.location is not None and (task.is_open or task.is_deletable)
        if can_read:
            request_id = f"{task.id}.{task.status.value}.{name or task.checks}"
            await self.queue().send(scope, make_queued_task_check(scope, thread_id, task.id, request_id=request_id))

    async def _find_entered(self, scope: Scope, thread_id: str, message_id: str) -> BackgroundStatus | None:
        """Return the status with which an earlier report has entered the conversation; None if there was none."""
        turn = await self.store.get_turn(scope, thread_id, message_id)
        if turn is None:
            return None
        messages = await self.store.run_messages(scope, thread_id, first_ordinal=turn.first_ordinal, below=None)
        text = next((message.text for message in messages if message.id == message_id), "")
        statuses = (status for status in BackgroundStatus if text.startswith(f"[{status.value}] "))
        return next(statuses, BackgroundStatus.COMPLETED)
