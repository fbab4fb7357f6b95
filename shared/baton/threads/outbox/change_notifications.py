"""Changes of threads, queued for the function that notifies clients of A2A tasks and receivers of webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import WebhookEvent, WebhookSettings
from baton.domain.threads.thread_change import ChangeKind, DeskChange, ThreadChange
from baton.ports.agents.a2a import PushQueue
from baton.ports.threads.leases import Lease

SECONDS = 2.0
"""The longest time that a turn waits for the queue, in seconds."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class ChangeNotifications:
    """The changes of threads, queued. None of its methods raises: a turn never fails for a notification.

    Ends are queued before they are committed, so that a worker that dies in between loses none: the sender waits
    for the commit.
    """

    queue: Callable[[], PushQueue]
    """A function that returns the queue, for threads with configurations and tenants with webhooks."""
    webhooks: Callable[[], WebhookSettings]
    """A function that returns the current webhooks. It raises ``BatonError`` if there are no settings."""

    def may_reach_webhooks(self, tenant_id: str, events: Iterable[WebhookEvent]) -> bool:
        """Return whether a webhook gets one of these events of the tenant. No request is made.

        Return True if the settings cannot be read, because the function that sends notifications checks again.
        """
        try:
            return self.webhooks().wants(tenant_id, events)
        except BatonError:
            return True

    async def note_run_began(self, lease: Lease, run_id: str, root: str | None) -> bool:
        """Queue the beginning of a run. Return whether it is queued.

        ``root`` is the id of the run's A2A task; None if it is not known.
        """
        return await self._send(_make_change(lease, ChangeKind.BEGAN, run_id=run_id, root=root))

    async def note_run_ended(
        self, lease: Lease, run_id: str, root: str | None, *, ends_session: bool, desk: DeskChange | None = None
    ) -> bool:
        """Queue the end of a run. Return whether it is queued.

        ``root`` is the id of the run's A2A task; None if it is not known. With ``ends_session`` the session ends too,
        which concerns its other tasks. ``desk`` is the run's effect on a desk.
        """
        first_ordinal = lease.thread.episode_first_ordinal if ends_session else None
        return await self._send(
            _make_change(
                lease,
                ChangeKind.ENDED,
                run_id=run_id,
                root=root if first_ordinal is None else None,
                first_ordinal=first_ordinal,
                desk=desk,
            )
        )

    async def note_session_closed(self, lease: Lease, desk: DeskChange | None = None) -> bool:
        """Queue the end of the session. ``desk`` is its effect on a desk. Return whether it is queued."""
        first_ordinal = lease.thread.episode_first_ordinal
        return await self._send(_make_change(lease, ChangeKind.CLOSED, desk=desk, first_ordinal=first_ordinal))

    async def note_mark(self, scope: Scope, thread_id: str, root: str, mark: str) -> bool:
        """Queue the cancellation of a task, or the refusal of its message. Return whether it is queued.

        Each ``mark`` is sent once.
        """
        return await self._send(
            ThreadChange(
                tenant_id=scope.tenant_id,
                user_id=scope.user_id,
                thread_id=thread_id,
                kind=ChangeKind.MARKED,
                root=root,
                mark=mark,
            )
        )

    async def _send(self, change: ThreadChange) -> bool:
        try:
            async with asyncio.timeout(SECONDS):
                await self.queue().send(change)
        except (StoreUnavailable, TimeoutError):
            logger.warning("change of a thread not queued", thread_id=change.thread_id, kind=change.kind.value)
            count(Metric.NOTIFICATIONS_NOT_QUEUED)
            return False
        return True


def _make_change(
    lease: Lease,
    kind: ChangeKind,
    *,
    run_id: str | None = None,
    root: str | None = None,
    first_ordinal: int | None = None,
    desk: DeskChange | None = None,
) -> ThreadChange:
    """Return a change of the leased thread. The parameters are fields of ``ThreadChange``."""
    return ThreadChange(
        tenant_id=lease.scope.tenant_id,
        user_id=lease.thread.user_id,
        thread_id=lease.thread_id,
        kind=kind,
        run_id=run_id,
        root=root,
        first_ordinal=first_ordinal,
        ordinal=lease.thread.next_ordinal if run_id is not None else lease.thread.path.last + 1,
        episode=lease.thread.episode,
        fence=lease.fence,
        is_unseen=lease.is_optimistic,
        desk=desk.event if desk is not None else None,
        desk_id=desk.desk_id if desk is not None else None,
        return_reason=desk.reason if desk is not None else None,
    )
