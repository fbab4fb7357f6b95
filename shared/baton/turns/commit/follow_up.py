"""The steps that follow a run's commit: titles, summaries, notifications, and results that have waited."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from baton.agents.attempt_context import Attempt
from baton.agents.consulting.orphaned_tasks import stop_remote_tasks
from baton.agents.run_facts import RunFacts
from baton.domain.agents.agent_settings import AfterClosing
from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.memory.episode import EpisodeRef
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import make_thread_title, make_unsequenced
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.queued import QueuedSummary, QueuedTitle
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import Thread, ThreadStatus
from baton.threads.outbox.outbox import Outbox
from baton.threads.requests.queue_mapping import make_queued_summary, make_queued_title
from baton.threads.sessions.unread_answers import find_unread_change, is_unasked
from baton.threads.webhooks.thread_events import find_desk_change, list_possible_events
from baton.turns.finished_runs import FinishedRun
from baton.turns.lease_keeper import LeaseHolder
from baton.turns.turn_services import TurnServices

logger = Logger(child=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """The steps that follow a run's commit."""

    services: TurnServices
    facts: RunFacts
    holder: LeaseHolder
    outbox: Outbox

    async def notify_of_end(self, thread: Thread, end: RunEnd, session: EpisodeRef | None) -> bool:
        """Queue a notification of the run's end, if a client or webhook gets one. Return whether it is queued.

        Called before the commit, so that the death of this worker does not lose the notification, and again afterwards
        for receivers that were added in between.
        """
        ends_session = session is not None
        is_of_task = self.facts.question.a2a_task is not None or self.facts.answered is not None
        is_at_desk = self._thread.conversation.desk is not None  # a task waits for the people's answers
        is_for_clients = thread.notifies and (is_of_task or ends_session or is_at_desk)
        desk = find_desk_change(self._thread.conversation, self.facts.request, end)
        events = list_possible_events(end, ends_session=ends_session, desk=desk.event if desk is not None else None)
        notifications = self.services.change_notifications
        if not is_for_clients and not notifications.may_reach_webhooks(self.holder.lease.scope.tenant_id, events):
            return False
        return await notifications.note_run_ended(
            self.holder.lease, self.facts.run.run_id, self.facts.question.a2a_task, ends_session=ends_session, desk=desk
        )

    def send_title(self, thread: Thread) -> None:
        """Send a title that was made during the run. ``MadeTitles`` sends none while a run is in progress."""
        if thread.title is not None and self._thread.title is None:
            self.outbox.delivery.post([make_unsequenced(make_thread_title(thread.title), threadId=thread.id)])

    async def carry_out(
        self,
        attempt: Attempt,
        finished: FinishedRun,
        end: RunEnd,
        session: EpisodeRef | None,
        summary_due: SummaryDue | None,
    ) -> None:
        """Carry out the steps after the commit of an attempt, while connections receive the run's last events."""
        await self._announce_unasked_answer(finished)
        lease, run_id, facts = self.holder.lease, self.facts.run.run_id, self.facts
        if run_id in self.outbox.delivery.cancelled_runs:
            await self.services.live.clear_cancel(lease.scope, lease.thread_id, run_id)
        await stop_remote_tasks(self.services.agents, facts.scope, facts.agents, attempt.remote_tasks, attempt.journal)
        if session is not None:
            await self.services.sessions.finish(lease.scope, lease.thread_id, session, session.reason)
        if summary_due is not None:
            summary = make_queued_summary(lease.scope, self._thread.id, summary_due)
            await self._queue_work(summary, "summary not queued", Metric.SUMMARIES_FAILED)
        await self._queue_title(finished.thread, end)
        background = self.services.agents.background
        if self._thread.parent_thread_id is not None and background is not None:
            await background().note_fork_ended(lease.scope, finished.thread)
        if self._thread.status is ThreadStatus.CLOSED and finished.thread.status is ThreadStatus.ACTIVE:
            await self._begin_waiting_results()
        await self.services.learning.learn_from_run(
            lease.scope, finished.thread, (*facts.unfinished, *finished.messages)
        )
        is_answered_by_people = self._thread.conversation.desk is not None and not attempt.inspection.calls
        if not is_answered_by_people:  # people's messages have nothing to inspect, and a record would cost as much
            await self.services.inspector.keep(
                lease.scope, lease.thread_id, run_id, attempt.inspection, finished.messages
            )

    async def carry_out_adopted(self, finished: FinishedRun, end: RunEnd, session: EpisodeRef | None) -> None:
        """Carry out the steps after the commit of the answer that a dead attempt has left."""
        lease = self.holder.lease
        await self._announce_unasked_answer(finished)
        if session is not None:
            await self.services.sessions.finish(lease.scope, lease.thread_id, session, session.reason)
        await self._queue_title(finished.thread, end)

    async def _begin_waiting_results(self) -> None:
        """Begin the runs of results that have waited until the conversation was opened again."""
        lease = self.holder.lease
        if self.facts.agents.get_main(self._thread).background.after_closing is AfterClosing.WAITS:
            with contextlib.suppress(StoreUnavailable):  # then they begin at their scheduled time
                await self.services.later_runs.begin_results(lease.scope, lease.thread_id)

    async def _queue_work(self, work: QueuedSummary | QueuedTitle, message: str, failures: Metric) -> None:
        """Queue work on the thread. A failure is logged as ``message`` and counted; the next run queues it again."""
        try:
            await self.services.queue().send(self.holder.lease.scope, work)
        except BatonError as failure:
            count(failures)
            logger.warning(message, thread_id=work.thread_id, reason=failure.code)

    async def _announce_unasked_answer(self, finished: FinishedRun) -> None:
        if is_unasked(
            finished.messages, find_unread_change(self.facts.request, finished.messages, self._thread.user_id)
        ):
            await self.services.unread_answers.announce(self.holder.lease.scope, finished.thread)

    async def _queue_title(self, thread: Thread, end: RunEnd) -> None:
        """Queue the title of a thread that has none and was answered."""
        is_answered = end.outcome not in (OutcomeType.ERROR, OutcomeType.DELIVERED) and not end.is_question_refused
        if self.services.makes_titles and thread.title is None and is_answered:
            work = make_queued_title(self.holder.lease.scope, thread.id, self.facts.run.run_id)
            await self._queue_work(work, "title not queued", Metric.TITLES_FAILED)

    @property
    def _thread(self) -> Thread:
        return self.holder.lease.thread
