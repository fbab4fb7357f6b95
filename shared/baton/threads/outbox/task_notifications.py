"""Changes of A2A tasks, queued for the function that notifies clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from baton.domain.errors import StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import ChangeKind, TaskChange
from baton.ports.agents.a2a import PushQueue
from baton.ports.threads.leases import Lease

SECONDS = 2.0
"""The longest time that a turn waits for the queue, in seconds."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class TaskNotifications:
    """The changes of A2A tasks, queued. None of its methods raises: a turn never fails for a notification.

    Ends are queued before they are committed, so that a worker that dies in between loses none: the sender waits
    for the commit.
    """

    queue: Callable[[], PushQueue]
    """Returns the queue. Only threads with configurations need it."""

    async def note_run_began(self, lease: Lease, run_id: str, root: str | None) -> bool:
        """Queue that a run has begun, of the task ``root`` if that is known. Return whether the queue has it."""
        return await self._send(_change_of(lease, ChangeKind.BEGAN, run_id=run_id, root=root))

    async def note_run_ended(self, lease: Lease, run_id: str, root: str | None, *, ends_session: bool) -> bool:
        """Queue that a run ends, and with it perhaps the session, which concerns other tasks too."""
        if not ends_session:
            return await self._send(_change_of(lease, ChangeKind.ENDED, run_id=run_id, root=root))
        first = lease.thread.episode_first_ordinal
        return await self._send(_change_of(lease, ChangeKind.ENDED, run_id=run_id, first_ordinal=first))

    async def note_session_closed(self, lease: Lease) -> bool:
        """Queue that the session ends."""
        return await self._send(_change_of(lease, ChangeKind.CLOSED, first_ordinal=lease.thread.episode_first_ordinal))

    async def note_mark(self, scope: Scope, thread_id: str, root: str, mark: str) -> bool:
        """Queue that a task was cancelled, or that its message was refused. The same ``mark`` is sent once."""
        return await self._send(
            TaskChange(
                tenant_id=scope.tenant_id,
                user_id=scope.user_id,
                thread_id=thread_id,
                kind=ChangeKind.MARKED,
                root=root,
                mark=mark,
            )
        )

    async def _send(self, change: TaskChange) -> bool:
        try:
            async with asyncio.timeout(SECONDS):
                await self.queue().send(change)
        except (StoreUnavailable, TimeoutError):
            logger.warning("change of a task not queued", thread_id=change.thread_id, kind=change.kind.value)
            count(Metric.NOTIFICATIONS_NOT_QUEUED)
            return False
        return True


def _change_of(
    lease: Lease,
    kind: ChangeKind,
    *,
    run_id: str | None = None,
    first_ordinal: int | None = None,
    root: str | None = None,
) -> TaskChange:
    """Return a change of the leased thread's tasks."""
    return TaskChange(
        tenant_id=lease.scope.tenant_id,
        user_id=lease.thread.user_id,
        thread_id=lease.thread_id,
        kind=kind,
        run_id=run_id,
        first_ordinal=first_ordinal,
        root=root,
        fence=lease.fence,
    )
