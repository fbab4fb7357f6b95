"""Turns: each answers one message with one run of events, which is committed exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from baton.domain.errors import LeaseLost, ThreadBusy, ThreadUnavailable, UnknownAgent
from baton.domain.identity import Scope
from baton.domain.thread import LeaseMark, RunStatus
from baton.handoffs.agent_registry import AgentRegistry
from baton.leases import POLL_SECONDS, LeaseWatch, acquire_when_free, give_back, holding, waiting
from baton.outbox.follow import Follower
from baton.outbox.outbox import Emit
from baton.outbox.replay import Replays
from baton.outbox.subscriber import Subscriber
from baton.ports.audit import AuditLog
from baton.ports.leases import Lease, LeaseBusy, LeaseRequest, NoSuchThread
from baton.ports.messages import TurnRecord
from baton.ports.turn_queue import HeldRecord
from baton.requests.thread_access import distinguish_unavailable
from baton.requests.turn_requests import AnswerRequest, MessageRequest, TurnRequest
from baton.turns.admission import BRANCH_REFUSALS, REFUSALS, Admission
from baton.turns.branch_points import BranchOpening, BranchPoints
from baton.turns.committing import FinishedRun
from baton.turns.recovery import Orphan, find_orphan
from baton.turns.repeats import Repeats
from baton.turns.run import RunExecution, RunOutcome
from baton.turns.turn_call import StillWaiting, TurnCall, delivery_of, discard, once_each
from baton.turns.turn_services import TurnServices

ORPHAN_SECONDS = 300.0
GIVE_UP_SECONDS = 40.0
"""Long enough for the lease of an earlier worker to run out."""


class Turns:
    """Runs turns: waits for the thread, answers the message, commits. Replays messages that were answered before."""

    def __init__(
        self,
        services: TurnServices,
        agents: AgentRegistry,
        replays: Replays,
        follower: Follower,
        audit: AuditLog,
    ) -> None:
        self._services = services
        self._store = services.store
        self._agents = agents
        self._audit = audit
        self._admission = Admission(services)
        self._points = BranchPoints(services.store, services.conversations)
        self._repeats = Repeats(services, replays, follower)

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
    ) -> FinishedRun:
        """Answer ``request``, sending every event to ``emit`` and to the thread's connections.

        ``seconds`` is the time that the caller has for the whole turn. ``patience`` is how many seconds of it may be
        spent waiting for other turns of the thread (by default all of them). A repeated message is answered from the
        store: to ``emit``, or only to ``subscriber`` if the message came over a WebSocket. ``record`` is the queue
        record of the message.

        Raises the ``BatonError`` that refuses the request before a run begins (then nothing is stored), and
        ``LeaseLost`` and ``StoreUnavailable`` when another worker has to take the run over. A model's failure is not
        raised, because it is an outcome of the run.
        """
        now = asyncio.get_running_loop().time()
        deadline = now + seconds
        wait_until = deadline if patience is None else min(deadline, now + patience)
        return await self._run_call(
            TurnCall(scope, request, once_each(emit), deadline, wait_until, subscriber, record=record)
        )

    async def answer(
        self,
        scope: Scope,
        request: TurnRequest,
        emit: Emit,
        *,
        seconds: float,
        patience: float | None = None,
        subscriber: Subscriber | None = None,
        record: HeldRecord | None = None,
    ) -> FinishedRun | None:
        """Run a turn like ``run``, but return None while other answers are missing.

        The answers of the request are stored until the others come. ``scope`` is that of the thread's user. Raises
        ``InterruptUnavailable`` if the thread does not wait for these answers.
        """
        try:
            return await self.run(
                scope, request, emit, seconds=seconds, patience=patience, subscriber=subscriber, record=record
            )
        except StillWaiting:
            return None

    async def give_up(self, scope: Scope, request: TurnRequest, *, subscriber: Subscriber | None) -> None:
        """End a message's run as ``interrupted`` without answering it, unless it has been answered already."""
        deadline = asyncio.get_running_loop().time() + GIVE_UP_SECONDS
        with contextlib.suppress(StillWaiting):  # the answer is stored; there is no run to end yet
            await self._run_call(TurnCall(scope, request, discard, deadline, deadline, subscriber, gives_up=True))

    async def finish_orphan(self, lease: Lease, *, record: HeldRecord | None = None) -> bool:
        """Finish the orphaned run found with a lease that was taken for another purpose, and end the lease.

        Returns False, with the lease still held, if the run has stored nothing: then there is nothing to finish.
        """
        deadline = asyncio.get_running_loop().time() + ORPHAN_SECONDS
        async with holding(self._store, lease):
            orphan = await find_orphan(self._store, lease)
            if orphan is None:
                return False
            await self._finish(await self._store.take_over(lease), orphan, deadline, record)
        return True

    async def finish_interrupted(
        self,
        scope: Scope,
        thread_id: str,
        *,
        presumed_dead: LeaseMark | None = None,
        record: HeldRecord | None = None,
    ) -> None:
        """Take over the thread's run if its worker has died and no other worker has taken it over."""
        wanted = LeaseRequest(thread_id, delivery=delivery_of(record), presumed_dead=presumed_dead)
        try:
            lease = await self._store.acquire(scope, wanted)
        except (LeaseBusy, NoSuchThread):
            return
        async with holding(self._store, lease):
            if lease.thread.run is None or not await self.finish_orphan(lease, record=record):
                await self._store.release(lease)

    async def _run_call(self, call: TurnCall) -> FinishedRun:
        request, refusal = call.request, None
        self._agents.begin(call.scope)  # beside the lease's request
        self._services.limits.begin(call.scope)
        wanted = LeaseRequest(request.thread.id, request.run_id, request.message_id, delivery=call.delivery)
        if isinstance(request, MessageRequest) and request.a2a_task is not None:
            wanted = replace(wanted, begins_task=True, notifies=request.notifies)
        try:
            agent = await self._agents.for_new_thread(call.scope, request.agent_id)
        except UnknownAgent as unknown:
            refusal = unknown  # ignored if the thread exists, because its own agent answers then
        else:
            await self._admission.refuse_new_thread(call.scope, request, agent)
            wanted = replace(
                wanted,
                may_create=request.thread.may_create,
                agent_id=agent.id,
                idle_seconds=agent.timeouts.idle_minutes * 60,
            )
        try:
            return await self._run_once(call, wanted)
        except UnknownAgent as error:
            await self._audit_denial(call, error)
            raise
        except (NoSuchThread, ThreadUnavailable) as error:
            if refusal is not None and isinstance(error, NoSuchThread):
                await self._audit_denial(call, refusal)
                raise refusal from None
            unavailable = await distinguish_unavailable(self._store, call.scope, request.thread.id, error)
            await self._audit_denial(call, unavailable)
            raise unavailable from None

    async def _run_once(self, call: TurnCall, wanted: LeaseRequest) -> FinishedRun:
        """Acquire the thread's lease and finish orphaned runs until this message's run is finished."""
        while True:
            try:
                lease = await acquire_when_free(self._store, call.scope, wanted, lambda *busy: self._wait(call, *busy))
                async with holding(self._store, lease, refusals=(*REFUSALS, StillWaiting)):
                    finished = await self._run_under_lease(call, lease)
            except _AnsweredElsewhere as answered:
                return await self._repeats.replay(call, answered.finished)
            except LeaseLost:
                if call.subscriber is not None:
                    raise  # the record returns to the queue, and its next delivery finds the other worker's outcome
                continue
            if finished is not None:
                return finished

    async def _wait(self, call: TurnCall, wanted: LeaseRequest, busy: LeaseBusy) -> LeaseRequest:
        """Wait while another worker holds the lease; that worker may be answering this message.

        Raises ``_AnsweredElsewhere`` once the message is answered, and ``ThreadBusy`` when the caller's time is over.
        """
        dead: LeaseMark | None = None
        known = await self._store.get_turn(call.scope, wanted.thread_id, call.request.message_id)
        if known is not None:
            finished = await self._repeats.outcome(call, wanted.thread_id, known)
            if finished is not None:
                raise _AnsweredElsewhere(finished)
            if busy.run is not None and busy.run.message_id == call.request.message_id:
                dead = await self._repeats.follow(call, wanted.thread_id, known.run_id)
        if busy.run is None:  # held for a close or a fork, which sends no sign of life
            return await waiting(call.wait_until - asyncio.get_running_loop().time())(wanted, busy)
        return replace(wanted, presumed_dead=dead or await self._wait_until_free(call, wanted.thread_id))

    async def _wait_until_free(self, call: TurnCall, thread_id: str) -> LeaseMark | None:
        """Wait until the run in progress ends or its worker dies; return the lease of a worker presumed dead.

        Raises ``ThreadBusy`` when the caller's time is over.
        """
        watch = LeaseWatch(self._services.live, call.scope, thread_id, self._services.lease_times)
        while asyncio.get_running_loop().time() < call.wait_until:
            thread = await self._store.get_thread(call.scope, thread_id)
            if thread.run is None or thread.run.status is RunStatus.INTERRUPTED:
                return None
            dead = await watch.look(thread)
            if dead is not None:
                return dead
            await asyncio.sleep(POLL_SECONDS)
        raise ThreadBusy

    async def _run_under_lease(self, call: TurnCall, lease: Lease) -> FinishedRun | None:
        """Carry out this message's run, or finish an orphaned run found with the lease and return None."""
        run, request = lease.thread.run, call.request
        is_own = run is not None and run.message_id == request.message_id
        orphan = None if is_own else await find_orphan(self._store, lease)
        if orphan is not None and call.gives_up:
            raise ThreadBusy  # another message's run, which its own delivery or the sweeper finishes
        if orphan is not None:
            await self._finish(lease, orphan, call.deadline, call.record)
            return None
        if isinstance(request, AnswerRequest):
            conflict = await self._admission.refused_tools(lease, request)
            if conflict is not None:
                return await self._done_before(call, lease, conflict)
            lease = await self._admission.take_answers(lease, request)
        if not is_own:
            lease = await self._store.begin_run(lease, run_id=request.run_id, message_id=request.message_id)
        refusal = await self._admission.refusal(lease, request)
        if refusal is not None:
            return await self._done_before(call, lease, refusal)
        try:
            branch = await self._branch(lease, request)
        except BRANCH_REFUSALS as refused:
            return await self._done_before(call, lease, refused)
        scope, pending = call.scope, lease.thread.pending
        if isinstance(request, AnswerRequest) and pending is not None:
            scope = replace(scope, permissions=frozenset(pending.permissions))
        outcome = await self._execute(call, lease, scope, branch)
        return outcome.finished if outcome.was_told else await self._repeats.replay(call, outcome.finished)

    async def _branch(self, lease: Lease, request: TurnRequest) -> BranchOpening | None:
        """Return how the run begins a branch, or None if the request wishes none."""
        wish = request.branch if isinstance(request, MessageRequest) else None
        return await self._points.opening(lease.scope, lease.thread, wish, request.content) if wish else None

    async def _execute(self, call: TurnCall, lease: Lease, scope: Scope, branch: BranchOpening | None) -> RunOutcome:
        """Open, answer, commit and deliver the run, unless it is already finished."""

        async def find_outcome(known: TurnRecord) -> FinishedRun | None:
            return await self._repeats.outcome(call, lease.thread_id, known, lease.thread)

        agents = await self._agents.of(lease.scope)
        if branch is not None and isinstance(call.request, MessageRequest):
            call = replace(call, request=replace(call.request, content=branch.content, a2a_task=branch.a2a_task))
            lease = replace(lease, thread=branch.point.thread)
        return await RunExecution(self._services, lease, call, scope, agents, branch).execute(find_outcome)

    async def _finish(self, lease: Lease, orphan: Orphan, deadline: float, record: HeldRecord | None) -> None:
        """Carry out a run whose worker died. Its caller gets the events over its connections and by replay."""
        call = TurnCall(lease.scope, orphan.request, discard, deadline, deadline, record=record)
        await self._execute(call, lease, orphan.scope, await self._branch(lease, orphan.request))

    async def _done_before(self, call: TurnCall, lease: Lease, refusal: Exception) -> FinishedRun:
        """Replay the run of an earlier copy of this request. Raises ``refusal`` if there is none."""
        known = await self._store.get_turn(lease.scope, lease.thread_id, call.request.message_id)
        finished = None
        if known is not None:
            finished = await self._repeats.outcome(call, lease.thread_id, known, lease.thread)
        if finished is None:
            raise refusal
        await give_back(self._store, lease)
        return await self._repeats.replay(call, finished)

    async def _audit_denial(self, call: TurnCall, error: ThreadUnavailable | UnknownAgent) -> None:
        """Audit that the message may not be sent. An agent that the caller may know is not audited."""
        request = call.request
        detail = {"messageId": request.message_id}
        if isinstance(error, UnknownAgent):
            if error.is_visible:
                return
            if error.permission is not None:
                detail["permission"] = error.permission
        await self._audit.record(
            call.scope, "thread.write", thread_id=request.thread.id, outcome=error.audited_as, detail=detail
        )


class _AnsweredElsewhere(Exception):
    """Another worker answered the message while this worker waited for the thread."""

    def __init__(self, finished: FinishedRun) -> None:
        super().__init__()
        self.finished = finished
