"""Ending a session: close the thread and make an episode of its messages since the previous session's end."""

from __future__ import annotations

from baton.domain.episode import EndReason, Episode, EpisodeStatus
from baton.domain.errors import NotFound, ThreadUnavailable
from baton.domain.events import thread_closed, unsequenced
from baton.domain.identity import Scope
from baton.domain.thread import ThreadStatus
from baton.domain.usage import Usage
from baton.handoffs.message_range import messages_between
from baton.leases.acquiring import acquire_when_free, waiting
from baton.outbox.delivery import send_to
from baton.outbox.subscriber import Subscriber
from baton.ports.audit import AuditLog
from baton.ports.episodes import Episodes
from baton.ports.queue_records import HeldRecord
from baton.ports.thread_store import Lease, LeaseRequest, NoSuchThread, ThreadStore
from baton.requests.thread_access import distinguish_unavailable
from baton.sessions.endings import Closed, Endings, last_episode
from baton.turns.turn_call import delivery_of
from baton.turns.turn_services import TurnServices
from baton.turns.turns import Turns


class Closer:
    """Closes threads at a user's request. Repeated requests close a thread only once."""

    def __init__(self, services: TurnServices, turns: Turns, endings: Endings, audit: AuditLog) -> None:
        self._services = services
        self._store = services.store
        self._turns = turns
        self._audit = audit
        self._endings = endings

    async def close(
        self,
        scope: Scope,
        thread_id: str,
        reason: EndReason,
        *,
        patience: float,
        episode: int | None = None,
        subscriber: Subscriber | None = None,
        record: HeldRecord | None = None,
    ) -> Closed:
        """Close the thread after the run in progress, and start the pipeline that makes its episode.

        A closed thread stays unchanged and gives the same answer. So does a thread whose session number ``episode``
        has ended already: a late request must not end a later session. Raises ``ThreadUnavailable`` (audited), and
        ``ThreadBusy`` when the run takes longer than ``patience`` seconds.
        """
        try:
            lease = await self._lease(scope, thread_id, patience, record)
        except (ThreadUnavailable, NoSuchThread) as error:
            refusal = await distinguish_unavailable(self._services.store, scope, thread_id, error)
            outcome = refusal.audited_as
            await self._audit.record(scope, "thread.close", thread_id=thread_id, outcome=outcome, detail={})
            raise refusal from None
        if episode is not None and lease.thread.episode > episode:
            return await self._ended_before(lease, episode, subscriber)
        if lease.thread.status is ThreadStatus.CLOSED:
            return await self._ended_before(lease, lease.thread.episode - 1, subscriber)
        return await self._endings.end(lease, reason, subscriber)

    async def _lease(self, scope: Scope, thread_id: str, patience: float, record: HeldRecord | None) -> Lease:
        wanted, when_busy = LeaseRequest(thread_id, delivery=delivery_of(record)), waiting(patience)
        while True:
            lease = await acquire_when_free(self._store, scope, wanted, when_busy)
            if lease.thread.run is None or not await self._turns.finish_orphan(lease, record=record):
                return lease

    async def _ended_before(self, lease: Lease, number: int, subscriber: Subscriber | None) -> Closed:
        """Return the result of an earlier closing, after repeating the steps that its worker may not have finished."""
        thread, sessions = lease.thread, self._services.sessions
        await self._store.release(lease)
        await sessions.finish_again(lease.scope, thread.id, number)
        closed = Closed(thread.id, last_episode(thread))
        if subscriber is not None:
            why = await sessions.last_reason(lease.scope, thread)
            event = unsequenced(thread_closed(why, closed.episode_id), threadId=thread.id)
            await send_to(self._services.connections, subscriber.connection_id, [event])
        return closed


class EpisodeWriter:
    """Makes the episode of an ended session from its thread's messages. It is the pipeline's first step."""

    def __init__(self, store: ThreadStore, episodes: Episodes) -> None:
        self._store = store
        self._episodes = episodes

    async def write(self, scope: Scope, thread_id: str, number: int) -> Episode:
        """Store the episode, remove the thread from the idle index, and return the episode. Idempotent.

        Raises ``NotFound`` for a session that has not ended.
        """
        ref = await self._episodes.get_ref(scope, thread_id, number)
        if ref is None:
            raise NotFound("This session has not ended.")
        thread = await self._store.get_thread(scope, thread_id)
        messages = await messages_between(self._store, scope, thread, ref.first_ordinal, ref.end_ordinal)
        agents = dict.fromkeys(m.agent_id for m in messages if m.agent_id is not None)
        episode = Episode(
            ref=ref,
            user_id=scope.user_id,
            agent_ids=tuple(agents) or (thread.agent_id,),
            status=EpisodeStatus.COMPLETE,
            started_at=messages[0].timestamp,
            message_count=len(messages),
            usage=sum((m.end.usage for m in messages if m.end is not None), Usage()),
        )
        await self._episodes.complete(scope, episode)
        await self._store.settle(scope, thread_id, episode=number)
        return episode

    async def give_up(self, scope: Scope, thread_id: str, number: int) -> None:
        """Mark the episode as failed, because the pipeline has failed permanently."""
        ref = await self._episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self._episodes.fail(scope, ref)
