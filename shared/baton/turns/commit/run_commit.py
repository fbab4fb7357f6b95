"""The commit of a run: its messages become part of the thread in one write, then its last events are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.agents.approvals import make_interrupts, make_pending_interrupts
from baton.agents.attempt_context import Attempt
from baton.agents.consulting.orphaned_tasks import settle_tasks
from baton.agents.run_facts import RunFacts
from baton.concurrency.tasks import gather_all
from baton.domain.errors import LeaseLost, make_error_from_code
from baton.domain.handoffs.handoff import HandoffOutcome
from baton.domain.memory.episode import EpisodeRef, make_episode_ref
from baton.domain.metrics import Metric, count
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.usage import OTHER_MODELS, ModelUsage
from baton.domain.threads.events import Event, RunStamp
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.run_events import list_state_changes
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.threads.thread import EndReason, Run, Thread
from baton.domain.threads.turn_requests import ActionRequest
from baton.domain.tracing import get_current_trace_id
from baton.ports.threads.messages import TurnRecord
from baton.threads.outbox.event_log import restore_event
from baton.threads.outbox.outbox import Outbox
from baton.turns.commit.follow_up import FollowUp
from baton.turns.commit.thread_pointer import ThreadPointer
from baton.turns.dialogue.dialogue_result import DialogueResult, count_failure, make_end_events
from baton.turns.finished_runs import FinishedRun
from baton.turns.lease_keeper import LeaseHolder
from baton.turns.turn_services import TurnServices


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommit:
    """The commit of one attempt at a run."""

    services: TurnServices
    facts: RunFacts
    holder: LeaseHolder
    outbox: Outbox
    first_token_ms: int | None = None
    """Milliseconds from the question to the first word of the answer; None if there is none."""
    time_zone: str | None = None
    """The user's time zone; None if it is not known."""
    turn: TurnRecord | None = None
    """The record of the run's message, if the commit has to store it, under an optimistic lease."""

    async def commit(self, attempt: Attempt, result: DialogueResult) -> FinishedRun:
        """Write the messages, commit them by moving the thread's pointer, then send the events that end the run.

        Connections receive the last events during the follow-up. The commit waits for slow connections at its very end.
        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        store, lease, run, follow_up = self.services.store, self.holder.lease, self._run, self._follow_up
        waiting_events = self._begin_delivery(attempt, result) if lease.is_optimistic else ()
        question = result.screened.apply(self.facts.question, self.services.agents.counter)
        if isinstance(self.facts.request, ActionRequest) and self.facts.request.content:
            question = replace(question, content="")  # stored only if the action failed; its text must not be shown
        stored_messages = result.messages or (question,)
        messages = stored_messages if stored_messages[0].ordinal == question.ordinal else (question, *stored_messages)
        pending_interrupts = self._find_pending(result)
        episode_ref = self._find_ended_session(messages[-1]) if result.ends_conversation else None
        conversation = result.conversation
        if episode_ref is not None:
            conversation = self.services.conversations.leave(conversation, HandoffOutcome.CLOSED)
        if self.outbox.log.is_piece_needed:
            await self.outbox.log.write_piece(lease)
        # Do not write these events to the log: a reader would see an end before the commit, which may still fail.
        is_cut = any(message.is_cut for message in messages)
        has_left_handoff = conversation is not result.conversation
        changes = list_state_changes(result.conversation.shown, conversation.shown) if has_left_handoff else ()
        ends = make_end_events(self._thread.id, run.run_id, result, pending_interrupts, episode_ref, is_cut=is_cut)
        final = [*waiting_events, *(self.outbox.log.number(event) for event in (*changes, *ends))]
        end = self._make_end(result, messages[-1], conversation, pending_interrupts)
        messages = (*messages[:-1], replace(messages[-1], end=end))
        *other_messages, last = (message for message in messages if message is not self.facts.question)
        is_queued, *_ = await gather_all(
            follow_up.notify_of_end(self._thread, end, episode_ref),
            attempt.writes.finish(),
            self._open_turn(),
            *(store.put_message(lease, message) for message in other_messages),
        )
        # Write the last message last: readers that find the run's end assume that all earlier messages are stored.
        await store.put_message(lease, last)
        if result.forked is not None:
            await self.services.forks.extend(lease.scope, result.forked)
        if episode_ref is not None:
            await self.services.sessions.episodes.begin(lease, episode_ref)
        if run.attempt > 1:
            await settle_tasks(self.services.agents, lease, run, attempt.journal)
            await self.services.conversations.undo(lease, self.facts.question, end.change)
        due = result.summary_due
        summary_at = due.below if due is not None and due.thread_id == self._thread.id else None
        # A guardrail's replacement is a second version of the question under the same fence.
        is_replaced = question is not self.facts.question
        finished_run = await self._pointer.move(
            messages,
            end,
            episode_ref,
            pending_interrupts,
            windows=result.windows,
            messages_may_change=is_replaced or (due is not None and summary_at is None),
            summary_at=summary_at,
        )
        if not is_queued:
            await follow_up.notify_of_end(finished_run.thread, end, episode_ref)
        count_failure(result.error)
        _count_turn(end)
        self.outbox.send_numbered(final)
        follow_up.send_title(finished_run.thread)
        try:
            await follow_up.carry_out(attempt, finished_run, end, episode_ref, result.summary_due)
        finally:
            await self.outbox.delivery.drain()  # last, because it may wait for slow connections
        return finished_run

    async def adopt(self, record: TurnRecord, messages: Sequence[StoredMessage]) -> FinishedRun:
        """Commit the complete answer that a dead attempt has left in ``messages``, and deliver its end.

        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        lease, last, end, follow_up = self.holder.lease, messages[-1], messages[-1].end, self._follow_up
        assert end is not None  # noqa: S101 - only complete answers are adopted
        is_closed = any(body.get("name") == "thread_closed" for body in end.tail)
        episode_ref = self._find_ended_session(last) if is_closed else None
        if episode_ref is not None:
            await self.services.sessions.episodes.begin(lease, episode_ref)
        handoff = await self.services.conversations.read_handoff(self._thread, lease.scope, end.change)
        if handoff is not None and not end.is_question_refused:
            await self.services.forks.extend_again(lease.scope, self._thread, handoff, messages)
        waiting_agent_id = last.agent_id or self.facts.agent.id
        pending_interrupts = make_pending_interrupts(
            end.interrupts,
            self._run,
            waiting_agent_id,
            record.permissions,
            first_ordinal=self.facts.first_of_exchange,
            offered_by=self.facts.offered_by,
        )
        is_queued = await follow_up.notify_of_end(self._thread, end, episode_ref)
        finished_run = await self._pointer.move(tuple(messages), end, episode_ref, pending_interrupts)
        if not is_queued:
            await follow_up.notify_of_end(finished_run.thread, end, episode_ref)
        count_failure(make_error_from_code(end.error_code) if end.error_code else None)
        _count_turn(end)
        stamp = RunStamp(self._thread.id, last.run_id, last.attempt)
        self.outbox.delivery.post(
            [
                restore_event(body, stamp, seq, question=messages[0], text=last.text)
                for seq, body in enumerate(end.tail, end.tail_seq)
            ]
        )
        follow_up.send_title(finished_run.thread)
        try:
            await follow_up.carry_out_adopted(finished_run, end, episode_ref)
        finally:
            await self.outbox.delivery.drain()
        return finished_run

    def _begin_delivery(self, attempt: Attempt, result: DialogueResult) -> Sequence[Event]:
        """Begin the writes of a run under an optimistic lease, which has written nothing yet.

        Return the events that have waited for the commit. Raises ``LeaseLost`` if the run does more than deliver a
        message: it then needs a lease that other workers see.
        """
        if result.outcome is not OutcomeType.DELIVERED:
            raise LeaseLost
        attempt.writes.begin()
        return self.outbox.number_waiting()

    async def _open_turn(self) -> None:
        """Store the record of the run's message. Raises ``LeaseLost`` if there is one already."""
        if self.turn is not None and await self.services.store.open_turn(self.holder.lease, self.turn) is not None:
            raise LeaseLost

    @property
    def _pointer(self) -> ThreadPointer:
        return ThreadPointer(
            services=self.services, facts=self.facts, holder=self.holder, outbox=self.outbox, time_zone=self.time_zone
        )

    @property
    def _follow_up(self) -> FollowUp:
        return FollowUp(services=self.services, facts=self.facts, holder=self.holder, outbox=self.outbox)

    @property
    def _thread(self) -> Thread:
        return self.holder.lease.thread

    @property
    def _run(self) -> Run:
        run = self._thread.run
        assert run is not None  # noqa: S101 - a lease is taken for a run
        return run

    def _find_pending(self, result: DialogueResult) -> PendingInterrupts | None:
        """Return the interrupts that the thread waits for after the run; None without interrupts."""
        agent = result.agent or self.facts.agent
        waits = result.waiting if result.outcome is OutcomeType.INTERRUPT else ()
        interrupts = make_interrupts(waits, result.cards, self._run, agent, self._thread.id, self.services.agents.clock)
        return make_pending_interrupts(
            interrupts,
            self._run,
            agent.id,
            self.facts.scope.permissions,
            first_ordinal=self.facts.first_of_exchange,
            offered_by=self.facts.offered_by,
        )

    def _find_ended_session(self, last: StoredMessage) -> EpisodeRef | None:
        """Return the session that ends with the run's ``last`` message; None for a fork."""
        return make_episode_ref(
            self._thread, last.ordinal + 1, EndReason.AGENT_CLOSED, self.services.agents.clock.now()
        )

    def _make_end(
        self,
        result: DialogueResult,
        last: StoredMessage,
        conversation: RunningConversation,
        pending: PendingInterrupts | None,
    ) -> RunEnd:
        """Return the end of the run, which is stored with its last message."""
        spent = result.spent
        tail_seq, tail = self.outbox.log.make_tail(last.text, last.id)
        return RunEnd(
            outcome=result.outcome,
            usage=result.usage,
            model=result.model,
            error_code=result.error.code if result.error else None,
            error_detail=result.error.detail if result.error else None,
            error_resets_at=result.error.resets_at if result.error else None,
            error_can_continue=result.error is not None and result.error.can_continue,
            tail=tail,
            tail_seq=tail_seq,
            first_seq=self.holder.lease.first_seq,
            interrupts=pending.interrupts if pending else (),
            parent_run_id=self.facts.answered.run_id if self.facts.answered else None,
            change=conversation.change,
            followed=result.followed,
            first_token_ms=self.first_token_ms,
            trace_id=get_current_trace_id(),
            awaits_input=result.outcome is OutcomeType.SUCCESS and conversation.awaits_input,
            is_question_refused=result.screened.is_refused,
            judged_by=tuple(result.screened.judged_by),
            versions=result.versions,
            spent=spent if spent != (ModelUsage(result.model or OTHER_MODELS, result.usage),) else (),
        )


def _count_turn(end: RunEnd) -> None:
    count(Metric.TURNS)
    if end.usage.total_tokens:
        count(Metric.INPUT_TOKENS, end.usage.input_tokens)
        count(Metric.OUTPUT_TOKENS, end.usage.output_tokens)
    if end.first_token_ms is not None:
        count(Metric.TIME_TO_FIRST_TOKEN, end.first_token_ms)
