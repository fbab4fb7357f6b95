"""The end of a session: the thread is closed, and what was said since the last end becomes an episode (T4)."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from baton.conversation.delivery import Delivery, send_to
from baton.conversation.event_log import EventLog
from baton.conversation.listener import Listener
from baton.conversation.run import RunServices, jump_from
from baton.conversation.turns import Turns
from baton.domain.episode import EndReason, Episode, EpisodeRef, EpisodeStatus, ended_session, episode_id
from baton.domain.errors import BatonError, LeaseLost, NotFound, ThreadBusy, ThreadUnavailable
from baton.domain.events import Event, RunStamp, thread_closed, unsequenced
from baton.domain.identity import Scope
from baton.domain.message import StoredMessage
from baton.domain.thread import Thread, ThreadStatus
from baton.domain.usage import Usage
from baton.ports.audit import AuditLog
from baton.ports.episodes import Episodes
from baton.ports.thread_store import Lease, LeaseBusy, LeaseRequest, NoSuchThread, ThreadStore

POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Closed:
    """What closing a thread came to."""

    thread_id: str
    episode_id: str | None
    """None if nothing had been said since the last end."""

    def as_json(self) -> dict[str, str | None]:
        return {"threadId": self.thread_id, "status": ThreadStatus.CLOSED.value, "episodeId": self.episode_id}


class Closer:
    """Closes threads, for users, agents and the sweeper alike: once, whoever asks and however often."""

    def __init__(self, services: RunServices, turns: Turns, audit: AuditLog) -> None:
        self._services = services
        self._store = services.store
        self._turns = turns
        self._audit = audit

    async def close(
        self,
        scope: Scope,
        thread_id: str,
        reason: EndReason,
        *,
        patience: float,
        episode: int | None = None,
        listener: Listener | None = None,
    ) -> Closed:
        """Close the thread after the run in progress, and start the pipeline that makes its episode.

        A closed thread is left as it is and answered the same; so is one whose ``episode``-th session, the one that
        was to be closed, has ended meanwhile: a closing that comes late ends no later session. Raises
        ``ThreadUnavailable`` (audited), and ``ThreadBusy`` when the run takes longer than ``patience`` seconds.
        """
        try:
            lease = await self._lease(scope, thread_id, patience)
        except (ThreadUnavailable, NoSuchThread):
            await self._audit.record(scope, "thread.close", thread_id=thread_id, outcome="denied", detail={})
            raise ThreadUnavailable from None
        if episode is not None and lease.thread.episode > episode:
            return await self._ended_before(lease, episode, listener)
        if lease.thread.status is ThreadStatus.CLOSED:
            return await self._ended_before(lease, lease.thread.episode - 1, listener)
        try:
            return await self._end(lease, reason, listener)
        except LeaseLost:
            raise
        except BaseException:
            # Whoever comes next need not wait for the lease to run out.
            with contextlib.suppress(BatonError):
                await asyncio.shield(self._store.abandon(lease))
            raise

    async def _lease(self, scope: Scope, thread_id: str, patience: float) -> Lease:
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        while True:
            try:
                lease = await self._store.acquire(scope, LeaseRequest(thread_id))
            except LeaseBusy:
                if loop.time() >= until:
                    raise ThreadBusy from None
                await asyncio.sleep(POLL_SECONDS)
                continue
            if lease.thread.run is None or not await self._turns.finish_orphan(lease):
                return lease

    async def _ended_before(self, lease: Lease, number: int, listener: Listener | None) -> Closed:
        """What closing came to when it was done before, by somebody who may have died over it."""
        thread, sessions = lease.thread, self._services.sessions
        await self._store.release(lease)
        await sessions.finish_again(lease.scope, thread.id, number)
        closed = Closed(thread.id, last_episode(thread))
        if listener is not None:
            why = await sessions.last_reason(lease.scope, thread)
            event = unsequenced(thread_closed(why, closed.episode_id), threadId=thread.id)
            await send_to(self._services.connections, listener.connection_id, [event])
        return closed

    async def _end(self, lease: Lease, reason: EndReason, listener: Listener | None) -> Closed:
        thread, scope = lease.thread, lease.scope
        ref = ended_session(thread, thread.next_ordinal, reason, self._services.clock.now())
        if ref is not None:
            await self._services.sessions.record(lease, ref)
        closed = Closed(thread.id, ref.id if ref else None)
        log = EventLog(self._services.log, RunStamp(thread.id, None, 1), first_seq=lease.first_seq)
        event = log.number(thread_closed(reason, closed.episode_id, previous_seq=jump_from(lease)))
        await log.write_piece(lease)
        await self._store.close(lease, last_seq=log.last_seq, ended=ref)
        await self._tell(lease, event, log.logged_seq, listener)
        await self._services.sessions.finish(scope, thread.id, ref, reason.value)
        return closed

    async def _tell(self, lease: Lease, event: Event, logged_seq: int, listener: Listener | None) -> None:
        delivery = Delivery(
            lease.scope,
            lease.thread_id,
            live=self._services.live,
            connections=self._services.connections,
            clock=self._services.clock,
            lease_until=lambda: lease.until,
        )
        try:
            with contextlib.suppress(BatonError):  # the thread is closed; who is not reached now reads it in the log
                if listener is not None:
                    await delivery.join(listener.connection_id, listener.token_expires_at)
                await delivery.refresh(logged_seq)
            delivery.post([event])
            await delivery.drain()
        finally:
            delivery.stop()


class EpisodeWriter:
    """Makes the episode of an ended session from the messages of its thread; the pipeline's first step."""

    def __init__(self, store: ThreadStore, episodes: Episodes) -> None:
        self._store = store
        self._episodes = episodes

    async def write(self, scope: Scope, thread_id: str, number: int) -> Episode:
        """Keep the episode and take the thread out of the idle index. Doing it again changes nothing.

        Raises ``NotFound`` for a session that never ended.
        """
        ref = await self._episodes.get_ref(scope, thread_id, number)
        if ref is None:
            raise NotFound("This session has not ended.")
        thread = await self._store.get_thread(scope, thread_id)
        messages = await self._messages(scope, thread, ref)
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
        """Record that the pipeline failed for good."""
        ref = await self._episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self._episodes.fail(scope, ref)

    async def _messages(self, scope: Scope, thread: Thread, ref: EpisodeRef) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        before: int | None = ref.end_ordinal
        while before is not None and before > ref.first_ordinal:
            page = await self._store.read_messages(scope, thread, limit=100, before=before)
            found = [*(m for m in page.messages if m.ordinal >= ref.first_ordinal), *found]
            before = page.next_before
        return found


def last_episode(thread: Thread) -> str | None:
    """The episode a closed thread ended with, if it ever had one."""
    return episode_id(thread.id, thread.episode - 1) if thread.episode > 1 else None
