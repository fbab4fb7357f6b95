"""Turns, each of which answers one message with one run of events and is committed exactly once."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta

from baton.agents.run_facts import TurnCall
from baton.domain.errors import LeaseLost, ThreadBusy, ThreadUnavailable, UnknownAgent
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import LeaseMark, Run, RunStatus
from baton.domain.threads.turn_requests import MessageRequest, TurnRequest
from baton.ports.threads.leases import Lease, LeaseBusy, LeaseRequest, NoSuchThread
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.turn_queue import HeldRecord
from baton.threads.leases import POLL_SECONDS, LeaseWatch, holding
from baton.threads.outbox.follow import Follower
from baton.threads.outbox.outbox import Emit, discard, drop_repeats
from baton.threads.outbox.replay import Replays
from baton.threads.requests.queue_mapping import make_queued_message
from baton.turns.admission import BRANCH_REFUSALS, REFUSALS, Admission
from baton.turns.deliveries import Deliveries
from baton.turns.finished_runs import FinishedRun
from baton.turns.repeats import Repeats, find_finished, find_orphan
from baton.turns.turn_services import TurnServices


@dataclass(frozen=True, slots=True)
class Acquisition:
    """The acquisition of leases, unless another worker answers the message first."""

    services: TurnServices
    repeats: Repeats

    async def acquire(
        self, call: TurnCall, request: LeaseRequest, wait_until: float, waiting: WaitingCall
    ) -> Lease | FinishedRun:
        """Return the lease when the thread is free, or the message's run if another worker has finished it meanwhile.

        Raises ``ThreadBusy`` at ``wait_until`` (event loop time), or in place of a takeover if the call's queue record
        is lost; ``NoSuchThread``, ``ThreadUnavailable``, ``MessageIdConflict``, ``MessageWithdrawn``, ``QueueFull``,
        and ``RateLimited`` if too many requests wait.
        """
        store, is_waiting = self.services.store, False
        async with AsyncExitStack() as stack:
            while True:
                try:
                    return await store.acquire(call.scope, request)
                except LeaseBusy as error:
                    busy_error = error
                dead_lease: LeaseMark | None = None
                turn = await store.get_turn(call.scope, request.thread_id, call.request.message_id)
                finished_run = await find_finished(store, call, turn) if turn is not None else None
                if finished_run is not None:
                    return finished_run
                if not is_waiting:
                    is_waiting = True
                    await stack.enter_async_context(self._take_place(call))
                if busy_error.run is not None and turn is None:
                    await waiting.begin(call)
                if turn is not None and busy_error.run is not None and _is_answered_by(busy_error.run, turn):
                    dead_lease = await self.repeats.follow(call, turn.run_id)
                if busy_error.run is not None:
                    dead_lease = dead_lease or await self._wait_until_free(call, wait_until)
                    if dead_lease is not None and call.record is not None and call.record.is_lost:
                        raise ThreadBusy  # the worker that has the record now would soon take over from this one
                    request = replace(request, presumed_dead=dead_lease)
                elif asyncio.get_running_loop().time() >= wait_until:
                    raise ThreadBusy
                else:  # the lease is held for a close or a fork, which gives no sign of life
                    await asyncio.sleep(POLL_SECONDS)

    def _take_place(self, call: TurnCall) -> AbstractAsyncContextManager[None]:
        """Return the place of a waiting request. Only a request over HTTP takes one, because it occupies a function."""
        if call.record is not None or call.subscriber is not None or call.gives_up:
            return nullcontext()
        name = self.services.agents.clock.new_id()
        seconds = max(0.0, call.deadline - asyncio.get_running_loop().time())
        return self.services.place_limits.hold(call.scope, CounterKind.WAITS, name, seconds=seconds)

    async def _wait_until_free(self, call: TurnCall, wait_until: float) -> LeaseMark | None:
        """Wait until the run in progress ends or its worker dies. Return the lease of a worker presumed dead, or None.

        Raises ``ThreadBusy`` at ``wait_until`` (event loop time).
        """
        thread_id = call.request.thread.id
        watch = LeaseWatch(self.services.live, call.scope, thread_id, self.services.lease_times)
        while asyncio.get_running_loop().time() < wait_until:
            thread = await self.services.store.get_thread(call.scope, thread_id)
            if thread.run is None or thread.run.status is RunStatus.INTERRUPTED:
                return None
            dead_lease = await watch.look(thread)
            if dead_lease is not None:
                return dead_lease
            await asyncio.sleep(POLL_SECONDS)
        raise ThreadBusy


def _is_answered_by(run: Run, turn: TurnRecord) -> bool:
    """Return whether the run answers the message of ``turn``, or the message has entered it."""
    return run.message_id == turn.message_id or turn.is_entered_in(run.run_id)


@dataclass(slots=True)
class WaitingCall:
    """The place of a caller's message among those that wait. Most queued messages have their place already."""

    services: TurnServices
    seconds: float
    """The seconds for which the caller waits."""
    is_queued: bool
    is_listed: bool = False
    """Whether the queued message has its place already."""
    gives_up: bool = False
    """Whether the message's run is only ended, without an answer: then the message needs no place."""
    _has_begun: bool = False
    _placed: TurnCall | None = None

    async def check(self, scope: Scope, request: TurnRequest) -> None:
        """Refuse a message that is to steer or interrupt a run while no run is in progress.

        Raises the errors of ``WaitingMessages.check``.
        """
        if not self.is_queued and not self.gives_up and isinstance(request, MessageRequest):
            await self.services.waiting.check(scope, request)

    async def begin(self, call: TurnCall) -> None:
        """Wait among the messages of the thread, once; see ``WaitingMessages.wait`` and ``add_queued``."""
        request = call.request
        if self.gives_up or self.is_listed or self._has_begun or not isinstance(request, MessageRequest):
            return
        self._has_begun = True
        queued = make_queued_message(call.scope, request, request_id=request.message_id)
        if self.is_queued:
            self._placed = call if await self.services.waiting.add_queued(call.scope, queued) else None
            return
        self._placed = call
        until = self.services.agents.clock.now() + timedelta(seconds=self.seconds)
        await self.services.waiting.wait(call.scope, queued, until=until)

    async def end(self) -> None:
        """Remove the message from those that wait. Call this after its run: a worker that takes it over needs it."""
        if self._placed is not None:
            call, self._placed = self._placed, None
            await self.services.live.remove_waiting(call.scope, call.request.thread.id, call.request.message_id)


ORPHAN_SECONDS = 300.0
"""The time to finish an orphaned run that was found with a lease taken for another purpose."""
GIVE_UP_SECONDS = 40.0
"""The time to give a run up: enough for the lease of an earlier worker to run out."""


class Turns:
    """Turns, each from the wait for its thread to its commit. A message that was answered before is replayed."""

    def __init__(self, services: TurnServices, replays: Replays, follower: Follower) -> None:
        self._services = services
        self._store = services.store
        self._admission = Admission(services)
        self._repeats = Repeats(services, replays, follower)
        self._acquisition = Acquisition(services, self._repeats)
        self._deliveries = Deliveries(services.store)

    async def run(
        self,
        scope: Scope,
        request: TurnRequest,
        emit: Emit,
        *,
        seconds: float,
        patience: float | None = None,
        subscriber: Subscriber | None = None,
        record: HeldRecord | None = None,
        is_queued: bool = False,
        is_listed: bool = False,
        gives_up: bool = False,
    ) -> FinishedRun | None:
        """Answer ``request``, sending every event to ``emit`` and to the thread's connections.

        ``scope`` is that of the thread's user; a run that begins by itself has no permissions that the user has lost
        since. ``seconds`` is the time that the caller has for the whole turn, and ``patience`` the part of it that may
        be spent waiting for other turns of the thread (by default all of it). A repeated message is answered from the
        store: to ``emit``, or only to ``subscriber`` if the message came over a WebSocket. ``record`` is the queue
        record of the message. ``is_queued`` is True if the message came by the queue, and ``is_listed`` if it was among
        the waiting messages before. With ``gives_up`` the run ends as ``interrupted``, without an answer.

        Return None for answers to interrupts while other answers are missing; they are stored until the others come.
        Raises the ``BatonError`` that refuses the request before a run begins (then nothing is stored), and
        ``LeaseLost`` and ``StoreUnavailable`` when another worker has to take the run over. A model's failure is not
        raised, because it is an outcome of the run.
        """
        now = asyncio.get_running_loop().time()
        deadline = now + seconds
        wait_until = deadline if patience is None else min(deadline, now + patience)
        call = TurnCall(scope, request, drop_repeats(emit), deadline, subscriber, gives_up, record)
        waiting_call = WaitingCall(self._services, seconds, is_queued=is_queued, is_listed=is_listed, gives_up=gives_up)
        await waiting_call.check(scope, request)
        call = await self._admission.narrow_permissions(call)
        lease_request, unknown_agent = await self._admission.make_lease_request(call)
        permit = await self._admission.permit(call)
        async with AsyncExitStack() as stack:
            call = replace(call, early=await self._admission.begin_recall(call, lease_request))
            if call.early is not None:
                stack.push_async_callback(call.early.stop)
            delivery = await self._deliveries.find_lease(call)
            while True:
                try:
                    lease = delivery or await self._acquisition.acquire(call, lease_request, wait_until, waiting_call)
                    if isinstance(lease, FinishedRun):
                        await waiting_call.end()
                        return await self._repeats.replay(call, lease)
                    async with holding(self._store, lease, refusals=REFUSALS):
                        run = await self._admission.admit(call, lease, permit)
                        if run is None:
                            return None
                        if isinstance(run, FinishedRun):
                            await waiting_call.end()
                            return await self._repeats.replay(call, run)
                        outcome = await run.execute()
                    if run.message_id != call.request.message_id:
                        continue  # that was an orphaned run
                    await waiting_call.end()
                    self._deliveries.note(call, outcome.finished.thread)
                    return outcome.finished if outcome.was_sent else await self._repeats.replay(call, outcome.finished)
                except (NoSuchThread, ThreadUnavailable, UnknownAgent) as error:
                    raise await self._admission.audit_denial(call, error, unknown_agent) from None
                except LeaseLost:
                    if delivery is not None:
                        delivery = None
                    elif call.subscriber is not None:
                        raise  # the record returns to the queue, and its next delivery finds the other worker's outcome

    async def has_entered(self, scope: Scope, request: MessageRequest) -> bool:
        """Return whether the message has entered another message's run that has ended since. Nothing is written.

        Raises ``MessageWithdrawn``, ``MessageIdConflict`` and ``ThreadUnavailable``.
        """
        turn = await self._store.get_turn(scope, request.thread.id, request.message_id)
        if turn is None or not (turn.is_withdrawn or turn.entered):
            return False
        now = asyncio.get_running_loop().time()
        return await find_finished(self._store, TurnCall(scope, request, discard, now), turn) is not None

    async def give_up(self, scope: Scope, request: TurnRequest, *, subscriber: Subscriber | None) -> None:
        """End a message's run as ``interrupted`` without answering it, unless it has been answered already."""
        await self.run(scope, request, discard, seconds=GIVE_UP_SECONDS, subscriber=subscriber, gives_up=True)

    async def finish_orphan(self, lease: Lease, *, record: HeldRecord | None = None) -> bool:
        """Finish the orphaned run found with a lease that was taken for another purpose, and end the lease.

        Return False, with the lease still held, if there is nothing to finish: the run has stored nothing, or begins a
        branch that can no longer be opened.
        """
        deadline = asyncio.get_running_loop().time() + ORPHAN_SECONDS
        async with holding(self._store, lease):
            orphan = await find_orphan(self._store, lease)
            if orphan is None:
                return False
            lease = await self._store.take_over(lease)
            try:
                run = await self._admission.admit_orphan(orphan, lease, deadline=deadline, record=record)
            except BRANCH_REFUSALS:
                return False
            await run.execute()
        return True

    async def finish_interrupted(
        self, scope: Scope, thread_id: str, *, presumed_dead: LeaseMark | None = None, record: HeldRecord | None = None
    ) -> None:
        """Finish the thread's run if its worker has died and no other worker has taken it over."""
        delivery = record.delivery if record is not None else None
        lease_request = LeaseRequest(thread_id, delivery=delivery, presumed_dead=presumed_dead)
        try:
            lease = await self._store.acquire(scope, lease_request)
        except (LeaseBusy, NoSuchThread):
            return
        async with holding(self._store, lease):
            if lease.thread.run is None or not await self.finish_orphan(lease, record=record):
                await self._store.release(lease)
