"""Ending a session at the request of a user, or of the person of a desk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from baton.domain.desks.desk_session import Person
from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import make_thread_closed, make_unsequenced
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import EndReason, ThreadStatus
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.leases import Lease, LeaseRequest, NoSuchThread
from baton.ports.threads.turn_queue import HeldRecord
from baton.threads.leases import acquire_when_free, holding
from baton.threads.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.threads.requests.thread_access import distinguish_unavailable
from baton.threads.sessions.sessions import ClosedThread, Endings, find_last_episode_id
from baton.turns.turn_services import TurnServices
from baton.turns.turns import Turns


@dataclass(frozen=True, slots=True)
class Closer:
    """The closing of threads at a request. Repeated requests close a thread only once."""

    services: TurnServices
    turns: Turns
    endings: Endings
    audit: AuditLog

    async def close(
        self,
        scope: Scope,
        thread_id: str,
        reason: EndReason,
        *,
        patience: float,
        episode: int | None = None,
        closed_by: Person | None = None,
        subscriber: Subscriber | None = None,
        record: HeldRecord | None = None,
    ) -> ClosedThread:
        """Close the thread after the run in progress, and start the pipeline that makes its episode.

        Nothing changes, and the result is the same, if the thread is closed already, or if its session number
        ``episode`` has ended: a late request must not end a later session. ``closed_by`` is the person of a desk who
        closes the thread. Raises ``ThreadUnavailable`` (audited), and ``ThreadBusy`` when the run takes longer than
        ``patience`` seconds.
        """
        try:
            lease = await self._take_lease(scope, thread_id, patience, record)
        except (ThreadUnavailable, NoSuchThread) as error:
            refusal = await distinguish_unavailable(self.services.store, scope, thread_id, error)
            outcome = refusal.audited_as
            await self.audit.record(scope, "thread.close", thread_id=thread_id, outcome=outcome, detail={})
            raise refusal from None
        if episode is not None and lease.thread.episode > episode:
            return await self._repeat_end(lease, episode, subscriber)
        if lease.thread.status is ThreadStatus.CLOSED:
            return await self._repeat_end(lease, lease.thread.episode - 1, subscriber)
        return await self.endings.end(lease, reason, subscriber, closed_by=closed_by)

    async def _take_lease(self, scope: Scope, thread_id: str, patience: float, record: HeldRecord | None) -> Lease:
        """Return the lease of the thread once its runs have ended. Finish a run whose worker has died first."""
        delivery, loop = record.delivery if record is not None else None, asyncio.get_running_loop()
        lease_request = LeaseRequest(thread_id, delivery=delivery)
        deadline = loop.time() + patience
        while True:
            lease = await acquire_when_free(self.services.store, scope, lease_request, seconds=deadline - loop.time())
            if lease.thread.run is None or not await self.turns.finish_orphan(lease, record=record):
                return lease

    async def _repeat_end(self, lease: Lease, number: int, subscriber: Subscriber | None) -> ClosedThread:
        """Return the result of an earlier closing, after repeating the steps that its worker may not have finished."""
        thread, sessions = lease.thread, self.services.sessions
        async with holding(self.services.store, lease):
            await self.services.store.release(lease)
        await sessions.finish_again(lease.scope, thread.id, number)
        closed_thread = ClosedThread(thread.id, find_last_episode_id(thread))
        if subscriber is not None:
            reason, person = await sessions.read_last_end(lease.scope, thread)
            event = make_unsequenced(make_thread_closed(reason, closed_thread.episode_id, person), threadId=thread.id)
            await send_to(self.services.connections, subscriber.connection_id, [event], patience=WORKER_SECONDS)
        return closed_thread
