"""One attempt at a run under a lease: from the stored question to the commit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.approvals import interrupts_of, pending_interrupts
from baton.agents.consult import settle_tasks
from baton.agents.run_context import MAX_RESERVE_SECONDS, RESERVED_SHARE, RunContext, RunServices, Writes
from baton.agents.transcript import Transcript
from baton.dialogue.answer import Answer, answer_events, count_failure, end_events, started
from baton.dialogue.answer_step import AnswerStep
from baton.domain.episode import EndReason, EpisodeRef, ended_session
from baton.domain.errors import (
    BatonError,
    InternalError,
    Interrupted,
    LeaseLost,
    ModelUnavailable,
    StoreUnavailable,
    error_from_code,
)
from baton.domain.events import Event, RunStamp, state_snapshot
from baton.domain.handoff import HandoffOutcome
from baton.domain.identity import Scope
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import OutcomeType, Role, RunEnd, StoredMessage
from baton.domain.metrics import Metric, count
from baton.domain.thread import Run, Thread, ThreadStatus
from baton.domain.tool_call import ToolCallRecord
from baton.handoffs.message_range import messages_between
from baton.handoffs.running_conversation import RunningConversation
from baton.outbox.delivery import LEASE_MARGIN, Delivery
from baton.outbox.event_log import EventLog, jump_from, restored
from baton.outbox.subscriber import Subscriber
from baton.ports.queue_records import HeldRecord
from baton.ports.thread_store import Commit, Lease, TurnRecord
from baton.requests.requests import AnswerRequest, TurnRequest
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton.turns.opening import calls_before, dated_as_before, opening_message, tell_results
from baton.turns.reading import ThreadSnapshot, read_thread
from baton.turns.recovery import adoptable

logger = Logger()

MAX_ATTEMPTS = 3
"""The attempt that gives a run up: whatever killed two workers would kill a third."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run after its commit: the thread as it is now, and the run's messages."""

    thread: Thread
    messages: tuple[StoredMessage, ...]


class RunExecution:
    """Carries out the run that a lease was taken for.

    ``open`` stores the question and tells whether the message id was used before; ``execute`` answers and commits.
    """

    def __init__(
        self,
        services: RunServices,
        lease: Lease,
        request: TurnRequest,
        *,
        scope: Scope | None = None,
        emit: Callable[[Event], None],
        deadline: float,
        subscriber: Subscriber | None,
        gives_up: bool = False,
        record: HeldRecord | None = None,
    ) -> None:
        """``scope`` is the user's, with the permissions the message came with; by default that of the lease.

        ``record`` is the queue's that the lease was taken for.
        """
        self._services = services
        self._scope = scope or lease.scope
        self._holder = LeaseHolder(services.store, lease, services.clock, record, services.lease_times)
        self._thread = lease.thread
        self._run = run = _leased_run(lease)
        self._request = request
        self._emit_to_caller = emit
        self._deadline = deadline
        self._subscriber = subscriber
        self._gives_up = gives_up or run.attempt >= MAX_ATTEMPTS
        self._agent = services.agents.answering(lease.thread)
        self._known: ThreadSnapshot | None = None
        self._log = EventLog(
            services.log, RunStamp(lease.thread_id, run.run_id, run.attempt), first_seq=lease.first_seq
        )
        self._first_seq = lease.first_seq
        self._delivery = Delivery(
            lease.scope,
            lease.thread_id,
            live=services.live,
            connections=services.connections,
            clock=services.clock,
            lease_until=lambda: self._holder.until,
        )
        self._answered = lease.thread.pending if isinstance(request, AnswerRequest) else None
        self._question = opening_message(request, lease.thread, run, services, self._answered)
        self._transcript = Transcript(
            lease.thread_id,
            run,
            first_ordinal=self._question.ordinal + (1 if self._question.role is Role.USER else 0),
            clock=services.clock,
            counter=services.counter,
            first_id=request.message_id if self._question.role is not Role.USER else None,
        )
        self._writes = Writes()
        self._journal: Mapping[str, ToolCallRecord] = {}
        self._unfinished: Sequence[StoredMessage] = ()
        """The exchange that was interrupted, if this run goes on with one."""
        self._left: tuple[StoredMessage, ...] | None = None
        """A dead attempt's answer that only has to be committed."""

    @property
    def _turn(self) -> TurnRecord:
        return TurnRecord(
            message_id=self._request.message_id,
            run_id=self._run.run_id,
            digest=self._request.digest,
            first_ordinal=self._question.ordinal,
            fence=self._holder.lease.fence,
            permissions=tuple(sorted(self._scope.permissions)),
        )

    async def open(self) -> TurnRecord | None:
        """Store the question and read what the answer needs, all at once.

        Returns the record of an earlier attempt at this message id, if there is one; then the caller decides between
        ``reopen`` and telling what became of it. A question stored in vain lies beyond the pointer, where nobody
        reads and the next turn writes over it.
        """
        store, lease = self._services.store, self._holder.lease
        known = None
        if self._run.attempt > 1:
            # An earlier attempt's question may stand where this one goes: it must not be replaced by another text.
            known = await store.open_turn(lease, self._turn)
            if known is not None and known.digest != self._request.digest:
                return known
            if known is not None:
                self._left = await adoptable(store, lease, known)
            if self._left is not None:
                return known  # nothing is written over a complete answer
            if known is not None:
                self._question = await dated_as_before(store, lease, known, self._question)
        if self._answered is not None:
            first, end = self._answered.first_ordinal, lease.thread.next_ordinal
            self._unfinished = await messages_between(store, lease.scope, lease.thread, first, end)
        opened, _, self._known, _, self._journal = await asyncio.gather(
            _nothing() if self._run.attempt > 1 else store.open_turn(lease, self._turn),
            store.put_message(lease, self._question),
            read_thread(self._services, self._scope, self._thread, self._agent, self._question, self._unfinished),
            # Nobody can have attached to a thread that begins now, nor asked for a run of it to be stopped.
            _nothing() if lease.fence == 1 else self._delivery.refresh(self._log.logged_seq),
            calls_before(self._services.records, lease, self._run),
        )
        return known or opened

    @property
    def _first_of_exchange(self) -> int:
        """The ordinal of the user's message that all this answers."""
        return self._answered.first_ordinal if self._answered is not None else self._question.ordinal

    async def reopen(self) -> None:
        """Take over a message id whose earlier attempt came to nothing."""
        await self._services.store.reopen_turn(self._holder.lease, self._turn)

    async def adopt(self, known: TurnRecord) -> FinishedRun | None:
        """Commit the complete answer that a dead attempt wrote, if it did and nobody came in between.

        The model is not asked again, and clients that have seen the answer keep what they have.
        """
        lease, messages = self._holder.lease, self._left
        if messages is None or messages[-1].end is None:
            return None
        last, end = messages[-1], messages[-1].end
        ended = None
        if any(body.get("name") == "thread_closed" for body in end.tail):
            now = self._services.clock.now()
            ended = ended_session(self._thread, last.ordinal + 1, EndReason.AGENT_CLOSED, now)
        if ended is not None:
            await self._services.sessions.record(lease, ended)
        handoff = await self._services.conversations.handoff(self._thread, lease.scope, end.change)
        if handoff is not None:
            await self._services.forks.extend_again(lease.scope, handoff, messages)
        waits_for = last.agent_id or self._agent.id
        first = self._first_of_exchange
        pending = pending_interrupts(end.interrupts, self._run, waits_for, known.permissions, first_ordinal=first)
        finished = await self._commit(messages, end, ended, pending)
        count_failure(error_from_code(end.error_code) if end.error_code else None)
        stamp = RunStamp(self._thread.id, last.run_id, last.attempt)
        for seq, body in enumerate(end.tail, end.tail_seq):
            self._delivery.post([restored(body, stamp, seq, question=messages[0], text=last.text)])
        await self._delivery.drain()
        if ended is not None:
            await self._services.sessions.finish(lease.scope, lease.thread_id, ended, ended.reason.value)
        return finished

    async def execute(self) -> FinishedRun:
        """Answer, commit and deliver. After ``LeaseLost`` or ``StoreUnavailable`` it is up for takeover."""
        answer = Answer()
        if self._subscriber is not None:
            await self._delivery.join(self._subscriber.connection_id, self._subscriber.token_expires_at)
        keeper = LeaseKeeper(
            self._holder,
            self._log,
            self._delivery,
            run_id=self._run.run_id,
            stop=answer.stop,
            emit_heartbeat=self._tell,
            times=self._services.lease_times,
        )
        async with keeper:
            await self._answer(answer)
        return await self._finish(answer)

    def close(self) -> None:
        """Let go of the connections; nothing more is posted."""
        self._delivery.stop()
        self._writes.stop()

    async def _answer(self, answer: Answer) -> None:
        """Stream the agent's answer; every failure that is not the store's becomes ``answer.error``."""
        step = self._step(answer)
        is_stopped = self._gives_up or self._run.run_id in self._delivery.cancelled_runs
        if is_stopped and not step.is_exit:
            # No model is asked: the run is given up, or was cancelled while it waited.
            answer.error = Interrupted() if self._gives_up else None
            answer.is_cancelled = answer.error is None
            for event in (started(step), state_snapshot(step.conversation.state)):  # a closed thread is active again
                self._tell(self._log.number(event))
            return
        async with contextlib.aclosing(answer_events(step, answer)) as events:
            try:
                async for event in events:
                    await self._make_sure_of_lease()
                    self._tell(self._log.number(event))
            except (LeaseLost, StoreUnavailable):
                raise
            except Exception:
                logger.exception("turn failed", thread_id=self._thread.id, run_id=self._run.run_id)
                count(Metric.INTERNAL_FAULTS)
                answer.error = InternalError()

    def _step(self, answer: Answer) -> AnswerStep:
        agent, services, loop = self._agent, self._services, asyncio.get_running_loop()
        deadline = min(self._deadline, loop.time() + agent.timeouts.turn_seconds)
        context = RunContext(
            services=services,
            scope=self._scope,
            thread_id=self._thread.id,
            run=self._run,
            lease=lambda: self._holder.lease,
            files=services.files.of_thread(self._holder.lease.scope, self._thread.id),
            deadline=deadline,
            reserve_seconds=min(MAX_RESERVE_SECONDS, RESERVED_SHARE * (deadline - loop.time())),
            stop=answer.stop,
            writes=self._writes,
            journal=self._journal,
        )
        return AnswerStep(
            context=context,
            thread=self._thread,
            conversation=self._conversation,
            request=self._request,
            skills=self._read.skills,
            opening=self._question,
            history=self._read.history,
            unfinished=self._unfinished,
            transcript=self._transcript,
            answered=self._answered,
            previous_seq=jump_from(self._holder.lease),
        )

    async def _finish(self, answer: Answer) -> FinishedRun:
        """Write what was said, commit by moving the pointer, then tell everybody how the run ended."""
        store, lease = self._services.store, self._holder.lease
        if answer.is_empty:
            answer.error = ModelUnavailable("The model gave an empty answer. Please try again.")
        agent = answer.agent or self._agent
        if self._answered is not None and not self._transcript.messages:
            tell_results(self._transcript, self._agent, self._answered, self._journal)
        said = self._transcript.messages or [self._question]
        messages = (*(() if said[0].ordinal == self._question.ordinal else (self._question,)), *said)
        waits = answer.waiting if answer.outcome is OutcomeType.INTERRUPT else ()
        interrupts = interrupts_of(waits, self._run, agent, self._thread.id, self._services.clock)
        pending = pending_interrupts(
            interrupts, self._run, agent.id, self._scope.permissions, first_ordinal=self._first_of_exchange
        )
        ended = self._ended(answer, messages[-1])
        left = self._return_to_main() if ended is not None else ()
        if self._log.is_tail_too_long:
            await self._log.write_piece(lease)
        # Never in the log: whoever reads it before the commit would tell of an end that may not be the end.
        is_cut = any(message.is_cut for message in messages)
        ends = end_events(self._thread.id, self._run.run_id, answer, pending, ended, is_cut=is_cut)
        final = [self._log.number(event) for event in (*left, *ends)]
        tail_seq, tail = self._log.tail(messages[-1].text, messages[-1].id)
        end = RunEnd(
            outcome=answer.outcome,
            usage=answer.usage,
            model=answer.model,
            error_code=answer.error.code if answer.error else None,
            error_detail=answer.error.detail if answer.error else None,
            tail=tail,
            tail_seq=tail_seq,
            first_seq=self._first_seq,
            interrupts=pending.interrupts if pending else (),
            parent_run_id=self._answered.run_id if self._answered else None,
            change=self._conversation.change,
        )
        messages = (*messages[:-1], replace(messages[-1], end=end))
        *others, last = (each for each in messages if each is not self._question)
        await asyncio.gather(self._writes.done(), *(store.put_message(lease, each) for each in others))
        # Whoever finds the run's end takes everything before it for complete.
        await store.put_message(lease, last)
        if answer.router is not None and answer.router.runner.forked is not None:
            await self._services.forks.extend(lease.scope, answer.router.runner.forked)
        if ended is not None:
            await self._services.sessions.record(lease, ended)
        if self._run.attempt > 1:
            await settle_tasks(self._services, lease, self._run, self._journal)
            await self._services.conversations.undo(lease, self._question, end.change)
        finished = await self._commit(messages, end, ended, pending)
        count_failure(answer.error)
        for event in final:
            self._tell(event)
        await self._delivery.drain()
        if self._run.run_id in self._delivery.cancelled_runs:
            await self._services.live.clear_cancel(lease.scope, lease.thread_id, self._run.run_id)
        if ended is not None:
            await self._services.sessions.finish(lease.scope, lease.thread_id, ended, ended.reason.value)
        return finished

    @property
    def _read(self) -> ThreadSnapshot:
        assert self._known is not None  # noqa: S101 - read by ``open``
        return self._known

    @property
    def _conversation(self) -> RunningConversation:
        return self._read.conversation

    def _return_to_main(self) -> list[BaseEvent]:
        """Return to the main agent because the conversation ends; what clients are shown of it."""
        conversation = self._conversation
        before = conversation.state
        self._services.conversations.leave(conversation, HandoffOutcome.CLOSED)
        return list(conversation.news_since(before))

    async def _commit(
        self,
        messages: tuple[StoredMessage, ...],
        end: RunEnd,
        ended: EpisodeRef | None,
        pending: PendingInterrupts | None,
    ) -> FinishedRun:
        """Move the pointer past ``messages``, then find out who is to be told."""
        conversation = None
        if end.change is not None:
            await self._make_sure_of_lease()  # its records have fences of their own, which nobody may have raised yet
            conversation = await self._services.conversations.keep(self._holder.lease, end.change)
        commit = Commit(
            next_ordinal=messages[-1].ordinal + 1,
            last_seq=end.last_seq,
            usage=end.usage,
            tokens=sum(message.tokens for message in messages),
            ended=ended,
            pending=pending,
            conversation=conversation,
        )
        await self._services.store.commit(self._holder.lease, commit)
        self._holder.has_committed()
        # Whoever registers from now on reads the tail from the message; whoever did before is found here.
        with contextlib.suppress(BatonError):
            await self._delivery.refresh(self._log.logged_seq)
        thread = replace(
            self._thread,
            status=ThreadStatus.CLOSED if ended else ThreadStatus.ACTIVE,
            run=None,
            next_ordinal=commit.next_ordinal,
            last_seq=commit.last_seq,
            reserved_seq=commit.last_seq,
            usage=self._thread.usage + end.usage,
            last_activity_at=messages[-1].timestamp,
            pending=pending,
            conversation=conversation or self._thread.conversation,
        )
        return FinishedRun(thread, messages)

    def _ended(self, answer: Answer, last: StoredMessage) -> EpisodeRef | None:
        """The session that this answer ends, if the agent has decided so and has said all it wanted to say."""
        if not answer.ends_conversation:
            return None
        now = self._services.clock.now()
        return ended_session(self._thread, last.ordinal + 1, EndReason.AGENT_CLOSED, now)

    async def _make_sure_of_lease(self) -> None:
        """Renew a lease that somebody may have taken over: a worker that was held up must not speak for the thread.

        Raises ``LeaseLost`` if somebody has.
        """
        if self._services.clock.now() >= self._holder.until - LEASE_MARGIN:
            await self._holder.renew(self._log.last_seq)

    def _tell(self, event: Event) -> None:
        self._emit_to_caller(event)
        self._delivery.post([event])


async def _nothing() -> None:
    """Stands for what has been done already."""


def _leased_run(lease: Lease) -> Run:
    if lease.thread.run is None:
        raise LeaseLost  # a lease is always taken for a run; without one it is not ours any more
    return lease.thread.run
