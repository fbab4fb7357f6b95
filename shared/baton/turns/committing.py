"""The commit of a run: its messages become part of the thread in one write, then its last events are sent."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aws_lambda_powertools import Logger

from baton.agents.approvals import make_interrupts, pending_interrupts
from baton.agents.attempt_context import Attempt
from baton.agents.consulting.orphaned_tasks import settle_tasks, stop_remote_tasks
from baton.agents.run_facts import RunFacts
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent_settings import AfterClosing
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable, error_from_code
from baton.domain.handoffs.handoff import HandoffOutcome
from baton.domain.memory.episode import EpisodeRef, ended_session
from baton.domain.metrics import Metric, count
from baton.domain.runs.usage import OTHER_MODELS, ModelUsage, by_model
from baton.domain.threads.events import RunStamp, thread_title, unsequenced
from baton.domain.threads.history_window import HistoryWindow, SummaryDue
from baton.domain.threads.interrupt import PendingInterrupts
from baton.domain.threads.message import OutcomeType, RunEnd, StoredMessage
from baton.domain.threads.queued import QueuedSummary, QueuedTitle
from baton.domain.threads.run_events import state_changes
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.threads.thread import EndReason, Run, Thread, ThreadStatus, Watchers
from baton.domain.threads.turn_requests import ActionRequest
from baton.domain.tracing import current_trace_id
from baton.ports.threads.leases import Commit
from baton.ports.threads.messages import TurnRecord
from baton.threads.outbox.event_log import restore
from baton.threads.outbox.outbox import Outbox
from baton.threads.requests.queue_mapping import queued_summary, queued_title
from baton.threads.sessions.unread_answers import is_unasked, reading_of
from baton.threads.webhooks.thread_events import find_desk_change, possible_events
from baton.turns.dialogue.dialogue_result import DialogueResult, count_failure, end_events
from baton.turns.finished_runs import FinishedRun
from baton.turns.lease_keeper import LeaseHolder
from baton.turns.turn_services import TurnServices

logger = Logger(child=True)


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
    """The record of the run's message, if the commit stores it: that of an optimistic lease."""

    async def commit(self, attempt: Attempt, result: DialogueResult) -> FinishedRun:
        """Write the messages, commit them by moving the thread's pointer, then send the events that end the run.

        The connections get the last events while the follow-up is done. Slow ones are waited for at the very end.
        """
        store, lease, run = self.services.store, self.holder.lease, self._run
        if lease.is_optimistic and result.outcome is not OutcomeType.DELIVERED:
            raise LeaseLost  # what the run does besides needs a lease that others see
        if lease.is_optimistic:
            attempt.writes.begin()
        waiting_events = self.outbox.number_waiting() if lease.is_optimistic else ()
        question = result.screened.apply(self.facts.question, self.services.agents.counter)
        if isinstance(self.facts.request, ActionRequest) and self.facts.request.content:
            question = replace(question, content="")  # an action that failed: its note or reply is shown to nobody
        stored_messages = result.messages or (question,)
        messages = stored_messages if stored_messages[0].ordinal == question.ordinal else (question, *stored_messages)
        pending = self._pending(result)
        episode_ref = self._find_ended_session(messages[-1]) if result.ends_conversation else None
        conversation = result.conversation
        if episode_ref is not None:
            conversation = self.services.conversations.leave(conversation, HandoffOutcome.CLOSED)
        if self.outbox.log.is_piece_needed:
            await self.outbox.log.write_piece(lease)
        # Do not write these events to the log: a reader would see an end before the commit, which may still fail.
        is_cut = any(message.is_cut for message in messages)
        is_left = conversation is not result.conversation
        changes = state_changes(result.conversation.shown, conversation.shown) if is_left else ()
        ends = end_events(self._thread.id, run.run_id, result, pending, episode_ref, is_cut=is_cut)
        final = [*waiting_events, *(self.outbox.log.number(event) for event in (*changes, *ends))]
        end = self._end(result, messages[-1], conversation, pending)
        messages = (*messages[:-1], replace(messages[-1], end=end))
        *others, last = (message for message in messages if message is not self.facts.question)
        is_queued, *_ = await gather_all(
            self._notify_of_end(self._thread, end, episode_ref),
            attempt.writes.done(),
            self._open_turn(),
            *(store.put_message(lease, message) for message in others),
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
        finished = await self._move_pointer(
            messages,
            end,
            episode_ref,
            pending,
            windows=result.windows,
            messages_may_change=is_replaced or (due is not None and summary_at is None),
            summary_at=summary_at,
        )
        if not is_queued:
            await self._notify_of_end(finished.thread, end, episode_ref)
        count_failure(result.error)
        _count_turn(end)
        self.outbox.send_numbered(final)
        self._send_title(finished.thread)
        try:
            await self._announce_unasked(finished)
            await self._follow_up(attempt, finished, end, episode_ref, result.summary_due)
        finally:
            await self.outbox.delivery.drain()  # last, because it may wait for slow connections
        return finished

    async def adopt(self, record: TurnRecord, messages: Sequence[StoredMessage]) -> FinishedRun:
        """Commit the complete answer that a dead attempt has left in ``messages``, and deliver its end."""
        lease, last, end = self.holder.lease, messages[-1], messages[-1].end
        assert end is not None  # noqa: S101 - only complete answers are adopted
        is_closed = any(body.get("name") == "thread_closed" for body in end.tail)
        episode_ref = self._find_ended_session(last) if is_closed else None
        if episode_ref is not None:
            await self.services.sessions.episodes.begin(lease, episode_ref)
        handoff = await self.services.conversations.handoff(self._thread, lease.scope, end.change)
        if handoff is not None and not end.is_question_refused:
            await self.services.forks.extend_again(lease.scope, handoff, messages)
        waits_for = last.agent_id or self.facts.agent.id
        pending = pending_interrupts(
            end.interrupts,
            self._run,
            waits_for,
            record.permissions,
            first_ordinal=self.facts.first_of_exchange,
            offered_by=self.facts.offered_by,
        )
        is_queued = await self._notify_of_end(self._thread, end, episode_ref)
        finished = await self._move_pointer(tuple(messages), end, episode_ref, pending)
        if not is_queued:
            await self._notify_of_end(finished.thread, end, episode_ref)
        count_failure(error_from_code(end.error_code) if end.error_code else None)
        _count_turn(end)
        stamp = RunStamp(self._thread.id, last.run_id, last.attempt)
        self.outbox.delivery.post(
            [
                restore(body, stamp, seq, question=messages[0], text=last.text)
                for seq, body in enumerate(end.tail, end.tail_seq)
            ]
        )
        self._send_title(finished.thread)
        try:
            await self._announce_unasked(finished)
            if episode_ref is not None:
                await self.services.sessions.finish(lease.scope, lease.thread_id, episode_ref, episode_ref.reason)
            await self._ask_for_title(finished.thread, end)
        finally:
            await self.outbox.delivery.drain()
        return finished

    async def _open_turn(self) -> None:
        """Store the record of the run's message. Raises ``LeaseLost`` if there is one already."""
        if self.turn is not None and await self.services.store.open_turn(self.holder.lease, self.turn) is not None:
            raise LeaseLost

    async def _follow_up(
        self,
        attempt: Attempt,
        finished: FinishedRun,
        end: RunEnd,
        session: EpisodeRef | None,
        summary_due: SummaryDue | None,
    ) -> None:
        """Carry out the steps that depend on the commit, while the connections receive the run's last events."""
        lease, run_id, facts = self.holder.lease, self._run.run_id, self.facts
        if run_id in self.outbox.delivery.cancelled_runs:
            await self.services.live.clear_cancel(lease.scope, lease.thread_id, run_id)
        await stop_remote_tasks(self.services.agents, facts.scope, facts.agents, attempt.remote_tasks, attempt.journal)
        if session is not None:
            await self.services.sessions.finish(lease.scope, lease.thread_id, session, session.reason)
        if summary_due is not None:
            summary = queued_summary(lease.scope, self._thread.id, summary_due)
            await self._ask_for(summary, "summary not queued", Metric.SUMMARIES_FAILED)
        await self._ask_for_title(finished.thread, end)
        background = self.services.agents.background
        if self._thread.parent_thread_id is not None and background is not None:
            await background().note_fork_ended(lease.scope, finished.thread)
        if self._thread.status is ThreadStatus.CLOSED and finished.thread.status is ThreadStatus.ACTIVE:
            await self._begin_waiting_results()
        await self.services.learning.after_run(lease.scope, finished.thread, (*facts.unfinished, *finished.messages))
        is_of_people = self._thread.conversation.desk is not None and not attempt.inspection.calls
        if not is_of_people:  # of their words there is nothing to inspect, and a record costs as much as they do
            await self.services.inspector.keep(
                lease.scope, lease.thread_id, run_id, attempt.inspection, finished.messages
            )

    async def _begin_waiting_results(self) -> None:
        """Begin the runs of results that have waited until the conversation was opened again."""
        lease = self.holder.lease
        if self.facts.agents.main(self._thread).background.after_closing is AfterClosing.WAITS:
            with contextlib.suppress(StoreUnavailable):  # otherwise they begin at their time
                await self.services.later_runs.begin_results(lease.scope, lease.thread_id)

    @property
    def _thread(self) -> Thread:
        return self.holder.lease.thread

    @property
    def _run(self) -> Run:
        run = self._thread.run
        assert run is not None  # noqa: S101 - a lease is taken for a run
        return run

    def _pending(self, result: DialogueResult) -> PendingInterrupts | None:
        """Return the interrupts that the thread waits for after the run."""
        agent = result.agent or self.facts.agent
        waits = result.waiting if result.outcome is OutcomeType.INTERRUPT else ()
        interrupts = make_interrupts(waits, result.cards, self._run, agent, self._thread.id, self.services.agents.clock)
        return pending_interrupts(
            interrupts,
            self._run,
            agent.id,
            self.facts.scope.permissions,
            first_ordinal=self.facts.first_of_exchange,
            offered_by=self.facts.offered_by,
        )

    def _find_ended_session(self, last: StoredMessage) -> EpisodeRef | None:
        """Return the session that ends with the run's ``last`` message."""
        return ended_session(self._thread, last.ordinal + 1, EndReason.AGENT_CLOSED, self.services.agents.clock.now())

    def _end(
        self,
        result: DialogueResult,
        last: StoredMessage,
        conversation: RunningConversation,
        pending: PendingInterrupts | None,
    ) -> RunEnd:
        spent = result.spent
        tail_seq, tail = self.outbox.log.tail(last.text, last.id)
        return RunEnd(
            outcome=result.outcome,
            usage=result.usage,
            model=result.model,
            error_code=result.error.code if result.error else None,
            error_detail=result.error.detail if result.error else None,
            tail=tail,
            tail_seq=tail_seq,
            first_seq=self.holder.lease.first_seq,
            interrupts=pending.interrupts if pending else (),
            parent_run_id=self.facts.answered.run_id if self.facts.answered else None,
            change=conversation.change,
            followed=result.followed,
            first_token_ms=self.first_token_ms,
            trace_id=current_trace_id(),
            awaits_input=result.outcome is OutcomeType.SUCCESS and conversation.awaits_input,
            is_question_refused=result.screened.is_refused,
            judged_by=tuple(result.screened.judged_by),
            spent=spent if spent != (ModelUsage(result.model or OTHER_MODELS, result.usage),) else (),
        )

    async def _notify_of_end(self, thread: Thread, end: RunEnd, session: EpisodeRef | None) -> bool:
        """Queue a notification of the run's end, if somebody wants one. Return whether it is queued.

        Before the commit it is queued for those known by then, so that the death of this worker does not lose it.
        """
        ends_session = session is not None
        is_of_task = self.facts.question.a2a_task is not None or self.facts.answered is not None
        is_at_desk = self._thread.conversation.desk is not None  # a task waits for what is said there
        is_for_clients = thread.notifies and (is_of_task or ends_session or is_at_desk)
        desk = find_desk_change(self._thread.conversation, self.facts.request, end)
        events = possible_events(end, ends_session=ends_session, desk=desk.event if desk is not None else None)
        notifications = self.services.change_notifications
        if not is_for_clients and not notifications.reach_webhooks(self.holder.lease.scope.tenant_id, events):
            return False
        return await notifications.note_run_ended(
            self.holder.lease, self._run.run_id, self.facts.question.a2a_task, ends_session=ends_session, desk=desk
        )

    async def _ask_for(self, work: QueuedSummary | QueuedTitle, message: str, failures: Metric) -> None:
        """Queue work on the thread. If that fails, the next run asks for it again."""
        try:
            await self.services.queue().send(self.holder.lease.scope, work)
        except BatonError as failure:
            count(failures)
            logger.warning(message, thread_id=work.thread_id, reason=failure.code)

    async def _announce_unasked(self, finished: FinishedRun) -> None:
        if is_unasked(finished.messages, reading_of(self.facts.request, finished.messages, self._thread.user_id)):
            await self.services.unread_answers.announce(self.holder.lease.scope, finished.thread)

    def _send_title(self, thread: Thread) -> None:
        """Send a title that was made during the run. ``MadeTitles`` sends none while a run is in progress."""
        if thread.title is not None and self._thread.title is None:
            self.outbox.delivery.post([unsequenced(thread_title(thread.title), threadId=thread.id)])

    async def _ask_for_title(self, thread: Thread, end: RunEnd) -> None:
        """Queue the title of a thread that has none and was answered. If that fails, the next run asks for it again."""
        is_answered = end.outcome not in (OutcomeType.ERROR, OutcomeType.DELIVERED) and not end.is_question_refused
        if self.services.makes_titles and thread.title is None and is_answered:
            work = queued_title(self.holder.lease.scope, thread.id, self._run.run_id)
            await self._ask_for(work, "title not queued", Metric.TITLES_FAILED)

    async def _move_pointer(
        self,
        messages: tuple[StoredMessage, ...],
        end: RunEnd,
        session: EpisodeRef | None,
        pending: PendingInterrupts | None,
        *,
        windows: tuple[HistoryWindow, ...] | None = None,
        messages_may_change: bool = False,
        summary_at: int | None = None,
    ) -> FinishedRun:
        """Make ``messages`` part of the thread in one write, then refresh the connections to deliver to."""
        conversation = check_at = None
        if end.change is not None:
            # Check the lease first. The change has its own fences, and a worker that took over may not have raised
            # them yet.
            await self.holder.ensure(self.outbox.log.last_seq)
            conversation = await self.services.conversations.keep(self.holder.lease, end.change)
            check_at = await self.services.conversations.desk_check_at(
                self.holder.lease.scope, self._thread.conversation, conversation
            )
        watchers = self.outbox.delivery.watchers
        # Requests to cancel later runs are read together with the watchers only, so the next run has to look.
        if self.outbox.delivery.cancelled_runs - {self._run.run_id}:
            watchers = None
        reading = reading_of(self.facts.request, messages, self._thread.user_id)
        awaits_user = self._thread.awaits_user if reading.awaits_user is None else reading.awaits_user
        commit = Commit(
            next_ordinal=messages[-1].ordinal + 1,
            last_seq=end.last_seq,
            usage=end.usage,
            tokens=sum(message.tokens for message in messages),
            ended=session,
            pending=pending,
            conversation=conversation,
            windows=windows if windows != self._thread.windows else None,
            spent=end.by_model,
            error_code=end.error_code,
            time_zone=self.time_zone if self.time_zone != self._thread.time_zone else None,
            messages_may_change=messages_may_change,
            summary_at=summary_at,
            messages_fence=messages[-1].fence or None,
            watchers=Watchers(self._thread.live_changes, watchers) if watchers is not None else None,
            check_at=check_at,
            reading=reading,
        )
        committed = await self.services.store.commit(self.holder.lease, commit)
        self.holder.note_commit()
        if conversation is not None:
            await self.services.conversations.leave_desk(self.holder.lease.scope, self._thread, conversation)
        # Connections that attach after the commit read the tail from the message. This finds those attached before.
        if committed.live_changes != self._thread.live_changes or watchers is None:
            with contextlib.suppress(BatonError):
                await self.outbox.delivery.refresh(self.outbox.log.logged_seq)
        before = self._thread
        thread = replace(
            before,
            status=ThreadStatus.CLOSED if session else ThreadStatus.ACTIVE,
            run=None,
            next_ordinal=commit.next_ordinal,
            last_seq=commit.last_seq,
            reserved_seq=commit.last_seq,
            usage=before.usage + end.usage,
            last_activity_at=messages[-1].timestamp,
            pending=pending,
            conversation=conversation or before.conversation,
            windows=before.windows if commit.windows is None else commit.windows,
            notifies=committed.notifies,
            title=committed.title,
            spent=by_model(before.spent, commit.spent),
            last_error=commit.error_code or before.last_error,
            time_zone=commit.time_zone or before.time_zone,
            messages_fence=commit.messages_fence or self.holder.lease.fence,
            live_changes=committed.live_changes,
            watchers=commit.watchers,
            unread=committed.unread,
            awaits_user=awaits_user and session is None,
        )
        return FinishedRun(thread, messages)


def _count_turn(end: RunEnd) -> None:
    count(Metric.TURNS)
    if end.usage.total_tokens:
        count(Metric.INPUT_TOKENS, end.usage.input_tokens)
        count(Metric.OUTPUT_TOKENS, end.usage.output_tokens)
    if end.first_token_ms is not None:
        count(Metric.TIME_TO_FIRST_TOKEN, end.first_token_ms)
