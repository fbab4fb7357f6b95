"""A turn, whole: one message in, one run of events out, committed once whatever happens on the way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace

from baton.agents.approvals import audit_answer
from baton.agents.run_context import RunServices
from baton.domain.errors import (
    AgentMismatch,
    BatonError,
    HandoffInProgress,
    InterruptUnavailable,
    LeaseLost,
    MessageIdConflict,
    NotInHandoff,
    ThreadBusy,
    ThreadLed,
    ThreadUnavailable,
    UnknownAgent,
    WorkflowUnavailable,
)
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.queued import RecordDelivery
from baton.domain.thread import LeaseMark, RunStatus, Thread
from baton.domain.times import to_millis
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.forks import is_led_by_parent
from baton.outbox.delivery import send_to
from baton.outbox.follow import Follower
from baton.outbox.lease_watch import LeaseWatch
from baton.outbox.replay import Replays
from baton.outbox.subscriber import Subscriber
from baton.ports.audit import AuditLog
from baton.ports.queue_records import HeldRecord
from baton.ports.thread_store import Lease, LeaseBusy, LeaseRequest, NoSuchThread, TurnRecord
from baton.requests.requests import ActionRequest, AnswerRequest, ConversationAction, TurnRequest
from baton.sessions.thread_access import distinguish_unavailable
from baton.turns.recovery import Orphan, find_orphan
from baton.turns.run import FinishedRun, RunExecution
from baton.turns.turn_call import Emit, StillWaiting, TurnCall, once_each

POLL_SECONDS = 0.25
"""How often a message that waits its turn looks whether the thread is free; a GetItem each."""

_REFUSALS = (
    MessageIdConflict,
    AgentMismatch,
    UnknownAgent,
    InterruptUnavailable,
    NotInHandoff,
    HandoffInProgress,
    WorkflowUnavailable,
    ThreadLed,
)
"""What refuses a request before its run begins; nothing of it is stored."""

ORPHAN_SECONDS = 300.0
GIVE_UP_SECONDS = 40.0
"""Long enough to outwait the lease of whoever was working on the run."""


class Turns:
    """Runs turns: takes a message once, waits for its turn, answers it, commits, replays what was answered before."""

    def __init__(self, services: RunServices, agents: AgentRegistry, replays: Replays, audit: AuditLog) -> None:
        self._services = services
        self._store = services.store
        self._agents = agents
        self._replays = replays
        self._follower = Follower(services.store, services.live, replays, times=services.lease_times)
        self._audit = audit

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
        """Answer ``request``, giving every event to ``emit`` and to the thread's connections.

        ``seconds`` is the time the caller has for all of it, ``patience`` how much of that it may spend waiting for
        other turns of the thread (by default all of it). A repeated message is answered from the store: to
        ``emit``, or to ``subscriber`` alone when it came over a WebSocket. ``record`` is the queue's that it came with.

        Raises the ``BatonError`` that refuses the request before a run begins (nothing is stored then), ``LeaseLost``
        and ``StoreUnavailable`` when the run has to be taken over. A model's failure is not raised: it is how a run
        ends.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        wait_until = deadline if patience is None else min(deadline, loop.time() + patience)
        call = TurnCall(scope, request, once_each(emit), deadline, wait_until, subscriber, record=record)
        return await self._take(call)

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
        """Like ``run``, but None where the request answers only some of what a run waits for: that is kept until the
        others come. ``scope`` is the thread's user's. Raises ``InterruptUnavailable`` when the thread does not wait
        for these answers.
        """
        try:
            return await self.run(
                scope, request, emit, seconds=seconds, patience=patience, subscriber=subscriber, record=record
            )
        except StillWaiting:
            return None

    async def give_up(self, scope: Scope, request: TurnRequest, *, subscriber: Subscriber | None) -> None:
        """End a message's run as ``interrupted`` without answering it, unless it was answered after all."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GIVE_UP_SECONDS
        with contextlib.suppress(StillWaiting):  # the answer is kept; there is no run to end yet
            await self._take(
                TurnCall(scope, request, lambda event: None, deadline, deadline, subscriber, gives_up=True)
            )

    async def finish_orphan(self, lease: Lease, *, record: HeldRecord | None = None) -> bool:
        """Finish the run that a lease taken for something else was found with, and give the lease back.

        False, with the lease still held, if nothing of the run was ever stored: there is nothing to finish.
        """
        orphan = await find_orphan(self._store, lease)
        if orphan is None:
            return False
        try:
            deadline = asyncio.get_running_loop().time() + ORPHAN_SECONDS
            await self._finish(await self._store.take_over(lease), orphan, deadline, record)
        except BaseException:
            with contextlib.suppress(BatonError):
                await asyncio.shield(self._store.abandon(lease))
            raise
        return True

    async def finish_interrupted(
        self,
        scope: Scope,
        thread_id: str,
        *,
        presumed_dead: LeaseMark | None = None,
        record: HeldRecord | None = None,
    ) -> None:
        """Take over the thread's run if its worker has died; somebody else may have done so already."""
        wanted = LeaseRequest(thread_id, delivery=delivery_of(record), presumed_dead=presumed_dead)
        try:
            lease = await self._store.acquire(scope, wanted)
        except (LeaseBusy, NoSuchThread):
            return
        if lease.thread.run is None or not await self.finish_orphan(lease, record=record):
            await self._store.release(lease)

    async def _take(self, call: TurnCall) -> FinishedRun:
        request = call.request
        delivery = delivery_of(call.record)
        wanted = LeaseRequest(request.thread.id, request.run_id, request.message_id, delivery=delivery)
        refusal: UnknownAgent | None = None
        try:
            agent = self._agents.for_new_thread(call.scope, request.agent_id)
        except UnknownAgent as unknown:
            refusal = unknown  # unless the thread exists: then its own agent answers
        else:
            wanted = replace(
                wanted,
                may_create=request.thread.may_create,
                agent_id=agent.id,
                idle_seconds=agent.timeouts.idle_minutes * 60,
            )
        try:
            return await self._answer_once(call, wanted)
        except UnknownAgent as error:
            await self._denied(call, error)
            raise
        except (NoSuchThread, ThreadUnavailable) as error:
            if refusal is not None and isinstance(error, NoSuchThread):
                await self._denied(call, refusal)
                raise refusal from None
            unavailable = await distinguish_unavailable(self._store, call.scope, request.thread.id, error)
            await self._denied(call, unavailable)
            raise unavailable from None

    async def _denied(self, call: TurnCall, error: ThreadUnavailable | UnknownAgent) -> None:
        """Audit that the message may not be sent, unless its agent just does not exist."""
        request = call.request
        detail, outcome = {"messageId": request.message_id}, "denied"
        if isinstance(error, ThreadUnavailable):
            outcome = error.audited_as
        elif error.permission is None:
            return
        else:
            detail["permission"] = error.permission
        await self._audit.record(
            call.scope, "thread.write", thread_id=request.thread.id, outcome=outcome, detail=detail
        )

    async def _answer_once(self, call: TurnCall, wanted: LeaseRequest) -> FinishedRun:
        while True:
            try:
                lease = await self._store.acquire(call.scope, wanted)
            except LeaseBusy as busy:
                dead: LeaseMark | None = None
                known = await self._store.get_turn(call.scope, wanted.thread_id, call.request.message_id)
                if known is not None:
                    finished = await self._outcome(call, wanted.thread_id, known)
                    if finished is not None:
                        return await self._replay(call, finished)
                    if busy.run is not None and busy.run.message_id == call.request.message_id:
                        dead = await self._follow(call, wanted.thread_id, known.run_id)
                dead = dead or await self._wait_until_free(call, wanted.thread_id)
                wanted = replace(wanted, presumed_dead=dead)
                continue
            try:
                finished = await self._under_lease(call, lease)
            except LeaseLost:
                if call.subscriber is not None:
                    raise  # the record goes back to the queue and finds the other worker's outcome
                continue
            if finished is not None:
                return finished

    async def _under_lease(self, call: TurnCall, lease: Lease) -> FinishedRun | None:
        """Work on the run the lease came with: this message's, or first an orphan's (then None is returned)."""
        try:
            return await self._work(call, lease)
        except LeaseLost:
            raise
        except (*_REFUSALS, StillWaiting):
            await self._give_back(lease)
            raise
        except BaseException:
            # Whoever comes next need not wait for the lease to run out.
            with contextlib.suppress(BatonError):
                await asyncio.shield(self._store.abandon(lease))
            raise

    async def _work(self, call: TurnCall, lease: Lease) -> FinishedRun | None:
        run = lease.thread.run
        if run is None or run.message_id != call.request.message_id:
            orphan = await find_orphan(self._store, lease)
            if orphan is not None and call.gives_up:
                raise ThreadBusy  # another message's run, which its own delivery or a sweep will finish
            if orphan is not None:
                await self._finish(lease, orphan, call.deadline, call.record)
                return None
        request = call.request
        if isinstance(request, AnswerRequest):
            lease = await self._take_answers(lease, request)
        if run is None or run.message_id != request.message_id:
            lease = await self._store.begin_run(lease, run_id=request.run_id, message_id=request.message_id)
        return await self._own_run(call, lease)

    async def _own_run(self, call: TurnCall, lease: Lease) -> FinishedRun:
        request = call.request
        if request.agent_id is not None and request.agent_id != lease.thread.agent_id:
            raise AgentMismatch
        scope = call.scope
        if is_led_by_parent(lease.thread):
            raise ThreadLed
        if isinstance(request, ActionRequest):
            refusal = await self._refused_action(lease, request)
            if refusal is not None:
                return await self._done_before(call, lease, refusal)
        elif not isinstance(request, AnswerRequest):
            self._agents.check_main(lease.scope, lease.thread)
        elif lease.thread.pending is None:
            return await self._done_before(call, lease, InterruptUnavailable())
        else:
            scope = replace(scope, permissions=frozenset(lease.thread.pending.permissions))
        execution = RunExecution(
            self._services,
            lease,
            request,
            scope=scope,
            emit=call.emit,
            deadline=call.deadline,
            subscriber=call.subscriber,
            gives_up=call.gives_up,
            record=call.record,
        )
        try:
            known = await execution.open()
            if known is not None:
                finished = await self._outcome(call, lease.thread_id, known, lease.thread)
                if finished is not None:
                    await self._store.release(lease)
                    return await self._replay(call, finished)
                adopted = await execution.adopt(known)
                if adopted is not None:
                    return await self._replay(call, adopted)
                await execution.reopen()
            return await execution.execute()
        finally:
            execution.close()

    async def _take_answers(self, lease: Lease, request: AnswerRequest) -> Lease:
        """Keep the answers with the thread; the lease's thread then has them all. Raises ``StillWaiting``."""
        pending = lease.thread.pending
        if pending is None or pending.message_id != request.message_id:
            if await self._store.get_turn(lease.scope, lease.thread_id, request.message_id) is None:
                raise InterruptUnavailable
            return replace(lease, thread=replace(lease.thread, pending=None))  # answered before: it is replayed
        if any(pending.get(answer.interrupt_id) is None for answer in request.answers):
            raise InterruptUnavailable
        answered = pending.answered(request.answers, self._services.clock.now())
        if answered != pending:
            await self._store.keep_pending(lease, answered)
            for before, after in zip(pending.interrupts, answered.interrupts, strict=True):
                if before.answer is None and after.answer is not None:
                    await audit_answer(self._audit, lease.scope, lease.thread_id, after)
        if answered.open:
            raise StillWaiting
        return replace(lease, thread=replace(lease.thread, pending=answered))

    async def _refused_action(self, lease: Lease, request: ActionRequest) -> BatonError | None:
        """Why the action cannot be carried out, as the thread is now; it may have been carried out before."""
        if request.action is ConversationAction.EXIT:
            return None if lease.thread.is_handed_over else NotInHandoff()
        if request.action is ConversationAction.MERGE:
            return None
        if await self._services.conversations.is_in_session(lease.thread, lease.scope):
            return HandoffInProgress()
        try:
            await self._services.conversations.unfinished(lease.scope, request.about or "")
        except WorkflowUnavailable as unavailable:
            return unavailable
        return None

    async def _done_before(self, call: TurnCall, lease: Lease, refusal: BatonError) -> FinishedRun:
        """Replay the run that this request asked for before. Raises ``refusal`` if there never was one."""
        known = await self._store.get_turn(lease.scope, lease.thread_id, call.request.message_id)
        finished = await self._outcome(call, lease.thread_id, known, lease.thread) if known is not None else None
        if finished is None:
            raise refusal
        await self._give_back(lease)
        return await self._replay(call, finished)

    async def _give_back(self, lease: Lease) -> None:
        """End the lease; a run that an earlier attempt had begun stays to be taken over."""
        begun_before = lease.thread.run is not None and lease.thread.run.attempt > 1
        await (self._store.abandon(lease) if begun_before else self._store.release(lease))

    async def _outcome(
        self, call: TurnCall, thread_id: str, known: TurnRecord, thread: Thread | None = None
    ) -> FinishedRun | None:
        """What became of a message id that was used before. Raises ``MessageIdConflict`` for other content."""
        if known.digest != call.request.digest:
            raise MessageIdConflict
        if thread is None:
            thread = await self._store.get_thread(call.scope, thread_id)
        messages = await self._store.run_messages(
            call.scope, thread_id, first_ordinal=known.first_ordinal, below=thread.next_ordinal
        )
        if not messages or messages[0].id != known.message_id:
            return None
        return FinishedRun(thread, tuple(messages))

    async def _replay(self, call: TurnCall, finished: FinishedRun) -> FinishedRun:
        """Give the events of a finished run to whoever repeated its message, and to nobody else."""
        events = await self._replays.of_run(call.scope, finished.thread, finished.messages)
        if call.subscriber is None:
            for event in events:
                call.emit(event)
        else:
            await self._show(call, finished.thread.id, call.subscriber, events)
        return finished

    async def _show(self, call: TurnCall, thread_id: str, subscriber: Subscriber, events: Sequence[Event]) -> None:
        """Attach the subscriber and send it the events, while its token is good."""
        if self._services.clock.now() >= subscriber.token_expires_at:
            return
        await self._services.live.attach(call.scope, thread_id, subscriber.connection_id, subscriber.token_expires_at)
        await send_to(self._services.connections, subscriber.connection_id, events)

    async def _follow(self, call: TurnCall, thread_id: str, run_id: str) -> LeaseMark | None:
        """Give out the events of this message's run while another worker carries it out; its lease once that has died.

        A subscriber is attached and told what it missed, the rest reaches it live; its record stays in the queue until
        the run has ended, so that the message is answered even if that worker dies.
        """
        if call.subscriber is not None:
            thread = await self._store.get_thread(call.scope, thread_id)
            replay = await self._replays.after(call.scope, thread, thread.last_seq)
            await self._show(call, thread_id, call.subscriber, replay.events)
            return None
        died: list[LeaseMark] = []

        async def when_dead(_: Thread, lease: LeaseMark) -> bool:
            died.append(lease)
            return False

        seconds = call.deadline - asyncio.get_running_loop().time()
        events = self._follower.events_of_run(call.scope, thread_id, run_id, seconds=seconds, when_dead=when_dead)
        async with contextlib.aclosing(events):
            async for event in events:
                call.emit(event)
        return died[-1] if died else None

    async def _wait_until_free(self, call: TurnCall, thread_id: str) -> LeaseMark | None:
        """Wait for the running turn to end or die; the lease of a worker that is presumed dead.

        Raises ``ThreadBusy`` when the caller's time is over.
        """
        watch = LeaseWatch(self._services.live, call.scope, thread_id, self._services.lease_times)
        while asyncio.get_running_loop().time() < call.wait_until:
            thread = await self._store.get_thread(call.scope, thread_id)
            if thread.run is not None and thread.run.status is not RunStatus.INTERRUPTED:
                dead = await watch.look(thread)
                if dead is not None:
                    return dead
            elif thread.lease is None or to_millis(thread.lease.until) < to_millis(self._services.clock.now()):
                return None
            # Who closes a thread has its lease without a run, also when it has died over it.
            await asyncio.sleep(POLL_SECONDS)
        raise ThreadBusy

    async def _finish(self, lease: Lease, orphan: Orphan, deadline: float, record: HeldRecord | None) -> None:
        execution = RunExecution(
            self._services,
            lease,
            orphan.request,
            scope=orphan.scope,
            emit=lambda event: None,
            deadline=deadline,
            subscriber=None,
            record=record,
        )
        try:
            known = await execution.open()
            if known is not None:
                if await execution.adopt(known) is not None:
                    return
                await execution.reopen()
            await execution.execute()
        finally:
            execution.close()


def delivery_of(record: HeldRecord | None) -> RecordDelivery | None:
    """What a lease is wanted for that is taken while the record is worked on."""
    return record.delivery if record is not None else None
