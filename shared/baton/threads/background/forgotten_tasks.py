"""Tasks and results of forgotten conversations. They are audited as dropped, and work elsewhere is stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from baton.domain.errors import StoreUnavailable
from baton.domain.schedules.background_task import BackgroundKind, BackgroundTask
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads.queued import ForgottenTask
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.background import BackgroundTasks
from baton.ports.threads.schedules import DueItems
from baton.ports.threads.turn_queue import TurnQueue
from baton.threads.requests.queue_mapping import make_queued_task_check


@dataclass(frozen=True, slots=True)
class ForgottenTasks:
    """The open tasks and the waiting runs of conversations that are about to be removed."""

    tasks: BackgroundTasks
    items: DueItems
    queue: Callable[[], TurnQueue]
    audit: AuditLog
    clock: Clock

    async def drop(self, scope: Scope, thread_id: str) -> None:
        """Audit what is dropped with a conversation, and have a worker stop tasks elsewhere.

        Nothing is removed here. Repetitions add no second record. Raises ``StoreUnavailable``.
        """
        for task in await self.tasks.of_thread(scope, thread_id):
            if task.is_open:
                once = Once(derive_record_id(thread_id, "background.dropped", task.id), task.started_at)
                await self.audit.record(
                    scope,
                    "background.end",
                    thread_id=thread_id,
                    outcome="dropped",
                    detail={"taskId": task.id},
                    once=once,
                )
                await self._stop(scope, thread_id, task)
        async with aclosing(self.items.of_thread(scope, thread_id)) as later_runs:
            async for later in later_runs:
                message_id = later.message.request.message_id
                await self.audit.record(
                    scope,
                    "due.run",
                    thread_id=thread_id,
                    outcome="dropped",
                    detail={"messageId": message_id},
                    once=Once(derive_record_id(thread_id, "due.dropped", message_id), later.at),
                )

    async def _stop(self, scope: Scope, thread_id: str, task: BackgroundTask) -> None:
        """Have a worker stop a task. The request has the task's location, because the task itself is removed meanwhile.

        The work of an agent of the deployment ends with its fork.
        """
        is_elsewhere = task.kind is BackgroundKind.REMOTE_AGENT or (task.is_deletable and not task.is_put_off)
        if task.location is None or not is_elsewhere:
            return
        forgotten = ForgottenTask(kind=task.kind, name=task.name, agent_id=task.agent_id, location=task.location)
        record = make_queued_task_check(
            task.make_scope(scope), thread_id, task.id, request_id=f"{task.id}.forgotten", forgotten=forgotten
        )
        try:
            await self.queue().send(scope, record)
        except StoreUnavailable as failure:  # an outage of the queue must not prevent the removal of data
            report_failure(failure, "forgotten task not stopped")
