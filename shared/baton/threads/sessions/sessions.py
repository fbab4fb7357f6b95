"""The end of a session under a lease: it is recorded and audited, clients are notified, and its pipeline starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.concurrency.tasks import gather_all
from baton.domain.desks.desk_session import Person, ReturnReason
from baton.domain.errors import StoreUnavailable, ThreadUnavailable
from baton.domain.memory.episode import EpisodeRef, derive_episode_id, make_episode_ref
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.events import make_thread_closed
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import ConversationState, EndReason, Thread, ThreadStatus
from baton.ports.clock import Clock
from baton.ports.memory.episodes import Closings, Episodes
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.connections import Connections, LiveRegistry
from baton.ports.threads.leases import Lease, LeaseBusy, LeaseRequest, NoSuchThread
from baton.ports.threads.stream_log import StreamLog
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.threads.leases import holding
from baton.threads.outbox.change_notifications import ChangeNotifications
from baton.threads.outbox.delivery import announce
from baton.threads.outbox.event_log import log_outside_run
from baton.threads.webhooks.thread_events import find_desk_close

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class Sessions:
    """Ends of sessions, caused by the user, the agent or the sweeper. They are audited, and start closing pipelines."""

    episodes: Episodes
    closings: Closings
    audit: AuditLog

    async def finish(
        self,
        scope: Scope,
        thread_id: str,
        session: EpisodeRef | None,
        reason: EndReason,
        closed_by: Person | None = None,
        desk_id: str | None = None,
    ) -> None:
        """Audit the end and start the pipeline. ``session`` is None if the session is not recorded.

        ``desk_id`` is the desk at which it has ended; None if it has ended at none. A pipeline that does not start is
        not an error: the thread stays in the idle index, and the sweeper starts it. A repetition for the same session
        changes nothing.
        """
        await self._record(scope, thread_id, session, reason, closed_by, desk_id)
        if session is None:
            return
        try:
            await self.closings.start(scope, session, attempt=1)
        except StoreUnavailable:
            logger.warning("closing not started", thread_id=thread_id, episode=session.number)
            count(Metric.CLOSINGS_NOT_STARTED)

    async def finish_again(self, scope: Scope, thread_id: str, number: int) -> None:
        """Repeat ``finish`` for the session ``number`` unless its episode is made: the first worker may have died."""
        if number < 1:
            return
        episode = await self.episodes.get(scope, thread_id, number)
        if episode is not None and episode.is_settled:
            return
        ref = await self.episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self.finish(scope, thread_id, ref, ref.reason, ref.closed_by, ref.desk_id)

    async def restart(self, scope: Scope, session: EpisodeRef, *, attempt: int) -> None:
        """Start the pipeline again for a session without a whole episode. Raises ``StoreUnavailable``."""
        await self._record(scope, session.thread_id, session, session.reason, session.closed_by, session.desk_id)
        await self.closings.start(scope, session, attempt=attempt)

    async def _record(
        self,
        scope: Scope,
        thread_id: str,
        session: EpisodeRef | None,
        reason: EndReason,
        closed_by: Person | None,
        desk_id: str | None,
    ) -> None:
        """Audit the end of a session, and of its visit to a desk. Repetitions for a recorded session add no record."""
        detail = {"reason": reason.value, "episodeId": session.id if session else None}
        if closed_by is not None:
            detail["userId"], scope = scope.user_id, replace(scope, user_id=closed_by.id)
        once = Once(derive_record_id(thread_id, "thread.close", session.id), session.ended_at) if session else None
        await self.audit.record(scope, "thread.close", thread_id=thread_id, outcome="closed", detail=detail, once=once)
        if desk_id is not None:
            once = Once(derive_record_id(thread_id, "desk.return", session.id), session.ended_at) if session else None
            at_desk = {"deskId": desk_id, "reason": ReturnReason.CLOSED.value}
            await self.audit.record(
                scope, "desk.return", thread_id=thread_id, outcome="done", detail=at_desk, once=once
            )

    async def read_last_end(self, scope: Scope, thread: Thread) -> tuple[EndReason, Person | None]:
        """Return why a closed thread was closed, and the person of a desk who closed it; None if no such person did.

        The reason is ``USER_CLOSED`` if the end of the session is not recorded.
        """
        ref = await self.episodes.get_ref(scope, thread.id, thread.episode - 1)
        return (ref.reason, ref.closed_by) if ref is not None else (EndReason.USER_CLOSED, None)


@dataclass(frozen=True, slots=True)
class ClosedThread:
    """The result of closing a thread."""

    thread_id: str
    episode_id: str | None
    """None if the session had no messages."""

    @property
    def status(self) -> ThreadStatus:
        """The status of the thread from now on."""
        return ThreadStatus.CLOSED


@dataclass(frozen=True, slots=True)
class Endings:
    """The ending of sessions, of leased threads and of idle ones."""

    store: ThreadStore
    log: StreamLog
    live: LiveRegistry
    connections: Connections
    sessions: Sessions
    conversations: ConversationStates
    clock: Clock
    change_notifications: ChangeNotifications

    async def end(
        self, lease: Lease, reason: EndReason, subscriber: Subscriber | None = None, *, closed_by: Person | None = None
    ) -> ClosedThread:
        """End the session, release the lease and notify ``subscriber`` too.

        ``closed_by`` is the person of a desk who ends the session. Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        async with holding(self.store, lease):
            return await self._end(lease, reason, subscriber, closed_by)

    async def end_idle(self, scope: Scope, seen: Thread) -> ClosedThread | None:
        """End the session of an idle thread. Return None, without changes, if the thread differs from ``seen``.

        A worker that has written since then either holds the lease, or has changed the thread that is read with the
        lease.
        """
        try:
            lease = await self.store.acquire(scope, LeaseRequest(seen.id))
        except (LeaseBusy, NoSuchThread, ThreadUnavailable):
            return None
        async with holding(self.store, lease):
            if lease.thread.run is not None:
                await self.store.abandon(lease)  # a worker died during a run: the next worker takes the run over
                return None
            if replace(lease.thread, reserved_seq=seen.reserved_seq) != seen:
                await self.store.release(lease)
                return None
            return await self._end(lease, EndReason.TIMEOUT, None, None)

    async def _end(
        self, lease: Lease, reason: EndReason, subscriber: Subscriber | None, closed_by: Person | None
    ) -> ClosedThread:
        """End the session of a leased thread, release the lease, and notify the thread's connections."""
        thread, scope = lease.thread, lease.scope
        ref = make_episode_ref(thread, thread.path.last + 1, reason, self.clock.now(), closed_by=closed_by)
        if ref is not None:
            await self.sessions.episodes.begin(lease, ref)
        closed_thread = ClosedThread(thread.id, ref.id if ref else None)
        resumable = await self.conversations.close(lease)
        base_events = await self.conversations.list_events_of_change(
            scope, thread, ConversationState(thread.agent_id, resumable=resumable, data=thread.conversation.data)
        )
        bodies: list[BaseEvent] = [*base_events, make_thread_closed(reason, closed_thread.episode_id, closed_by)]
        events, last_seq = await log_outside_run(self.log, lease, bodies)
        notifications = self.change_notifications
        desk = find_desk_close(thread)
        events_of_end = [WebhookEvent.THREAD_CLOSED, *([desk.event] if desk is not None else [])]
        is_for_webhooks = ref is not None and notifications.may_reach_webhooks(scope.tenant_id, events_of_end)
        is_queued = (thread.notifies or is_for_webhooks) and await notifications.note_session_closed(lease, desk)
        notifies = await self.store.close(lease, last_seq=last_seq, ended=ref, resumable=resumable)
        if (notifies or is_for_webhooks) and not is_queued:
            await notifications.note_session_closed(lease, desk)
        await self.conversations.leave_desk(scope, thread, ConversationState(thread.agent_id))
        if desk is not None:
            count(Metric.DESKS_LEFT)
        # The pipeline need not wait for slow connections.
        await gather_all(
            self.sessions.finish(scope, thread.id, ref, reason, closed_by, desk.desk_id if desk is not None else None),
            # The thread is closed; clients that miss this read it in the log.
            announce(
                lease,
                events,
                last_seq,
                live=self.live,
                connections=self.connections,
                clock=self.clock,
                subscriber=subscriber,
            ),
        )
        return closed_thread


def find_last_episode_id(thread: Thread) -> str | None:
    """Return the id of the episode of a closed thread's last session; None if it had none."""
    return derive_episode_id(thread.id, thread.episode - 1) if thread.episode > 1 else None
