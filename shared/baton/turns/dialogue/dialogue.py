"""The dialogue of a run: the answers of its agents as AG-UI events, and one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.agent_work import Consult
from baton.agents.approvals import find_settled_calls
from baton.agents.attempt_context import Attempt
from baton.agents.calls.tool_calls import fit_result
from baton.agents.guardrails.hooks import judges_questions
from baton.agents.transcript import Transcript
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.metrics import Metric, count
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.tool_call import CallEnd, ToolCallRecord
from baton.domain.runs.usage import add_up_by_model
from baton.domain.threads.events import make_message_steered, make_run_started, make_state_snapshot
from baton.domain.threads.message import Role
from baton.domain.threads.run_end import OutcomeType
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT
from baton.threads.outbox.event_log import find_jump
from baton.turns.dialogue.agent_histories import DialogueServices
from baton.turns.dialogue.agent_router import AgentRouter
from baton.turns.dialogue.agent_runner import AgentRunner
from baton.turns.dialogue.dialogue_result import DialogueResult

logger = Logger(use_rfc3339=True)


class Dialogue:
    """The dialogue of a turn. It emits its agents' answers as AG-UI events, and then returns one result.

    It handles neither connections nor sequence numbers.
    """

    def __init__(self, attempt: Attempt, services: DialogueServices, *, consult: Consult | None = None) -> None:
        """``consult`` answers in place of consulted agents; if it is None, the agents themselves are asked."""
        self._attempt = attempt
        self._router = AgentRouter(attempt, services)
        self._runner = AgentRunner(attempt, services, consult)
        self._has_answered = False
        self._error: errors.BatonError | None = None
        self._is_cancelled = False

    async def run(self) -> None:
        """Emit the events from RUN_STARTED on, without the run's last event. Every opened message and step is closed.

        The caller commits the run and sends its last event (RUN_FINISHED or RUN_ERROR). A failure becomes the result's
        ``error``. Raises ``LeaseLost`` and ``StoreUnavailable``: then another worker takes the run over.
        """
        attempt, facts = self._attempt, self._attempt.facts
        attempt.emit(make_start_event(attempt))
        attempt.emit(make_state_snapshot(attempt.tracker.current.shown))
        # A question counts as refused until guardrails allow it, or an agent without guardrails gets it.
        is_asked = facts.answered is None and facts.question.role is Role.USER
        attempt.screened.is_refused = is_asked and judges_questions(attempt.tracker.current.agent)
        is_at_desk = attempt.tracker.current.desk is not None
        if attempt.ends_at_once_as is not None and not facts.asks_no_model and not is_at_desk:
            # No model is called: the run is given up, or was cancelled while it waited.
            self._error = errors.Interrupted() if attempt.ends_at_once_as is OutcomeType.ERROR else None
            self._is_cancelled = self._error is None
        else:
            try:
                attempt.emit_all(attempt.tracker.begin_step())
                is_next_asked = await self._router.begin()
                while is_next_asked and not attempt.stop.is_set():
                    try:
                        agent_result = await self._runner.run_active()
                    except errors.ModelError as failure:
                        self._router.take_back(failure)
                        break
                    self._has_answered |= agent_result.has_answered
                    is_next_asked = await self._router.hand_on(agent_result)
                self._is_cancelled = attempt.stop.is_set() and not facts.asks_no_model
            except (errors.LeaseLost, errors.StoreUnavailable):
                raise
            except Exception as error:  # noqa: BLE001 - it becomes the run's error
                self.fail(error)
            attempt.emit_all(attempt.tracker.end_step())
        self._complete()

    def _complete(self) -> None:
        """Add results and messages that an earlier attempt took into the run, and that this attempt did not reach."""
        attempt, facts = self._attempt, self._attempt.facts
        if facts.answered is not None and not attempt.transcript.messages:
            add_results(attempt.transcript, facts.agent, facts.answered, attempt.journal)
        if facts.question.is_question or attempt.transcript.messages:
            for message in attempt.incoming.list_remaining():
                attempt.emit(make_message_steered(attempt.transcript.add_steered(message)))

    def fail(self, error: Exception) -> None:
        """End the run with ``error``. An unexpected error reaches the user as an ``InternalError``."""
        if isinstance(error, errors.BatonError):
            self._error = error
            return
        attempt = self._attempt
        logger.error("turn failed", exc_info=error, thread_id=attempt.thread_id, run_id=attempt.run.run_id)
        count(Metric.INTERNAL_FAULTS)
        attempt.services.functions.note_failure(error)
        self._error = errors.InternalError()

    def finish(self) -> DialogueResult:
        """Return the result. Call this after ``run`` has returned."""
        attempt, facts, agents = self._attempt, self._attempt.facts, self._runner.results
        last = agents[-1] if agents and not self._router.has_last_word else None
        conversation = attempt.tracker.current.with_data(attempt.data.values)
        for agent in (facts.agent, conversation.main, conversation.agent):
            attempt.note_version(agent)
        if attempt.screened.is_refused:
            conversation = conversation.without_summaries(facts.question)
        result = DialogueResult(
            messages=tuple(attempt.transcript.messages),
            conversation=conversation,
            usage=sum((agent.usage for agent in agents), self._runner.consulted_usage) + self._router.handoffs.usage,
            model=agents[-1].model if agents else None,
            agent=last.agent if last is not None else None,
            waiting=tuple(last.waiting) if last is not None else (),
            cards=last.cards if last is not None else {},
            is_cancelled=self._is_cancelled,
            is_delivered=self._router.is_delivered,
            error=self._error,
            forked=self._runner.forked,
            windows=self._runner.histories.compute_windows(agents),
            summary_due=self._runner.histories.find_summary_due(agents),
            followed=tuple(dict.fromkeys(procedure for agent in agents for procedure in agent.followed)),
            spent=add_up_by_model(attempt.spent),
            screened=attempt.screened,
            versions=dict(attempt.versions),
        )
        if result.outcome is not OutcomeType.SUCCESS:
            return result
        is_silent = last is not None and last.stays_silent
        if not (self._has_answered or self._router.handoffs.has_spoken or facts.asks_no_model or is_silent):
            return replace(result, error=errors.ModelUnavailable("The model gave an empty answer. Please try again."))
        return replace(result, ends_conversation=last is not None and last.ends_conversation)


def make_start_event(attempt: Attempt) -> BaseEvent:
    """Return RUN_STARTED with the message that the run answers, or the decisions with which it continues."""
    answered_interrupts = attempt.facts.answered
    return make_run_started(
        attempt.thread_id,
        attempt.run.run_id,
        attempt.facts.question,
        previous_seq=find_jump(attempt.lease()),
        parent_run_id=answered_interrupts.run_id if answered_interrupts else None,
        answers=[interrupt.answer for interrupt in answered_interrupts.interrupts if interrupt.answer is not None]
        if answered_interrupts
        else (),
    )


def add_results(
    transcript: Transcript, agent: AgentDefinition, answered: PendingInterrupts, journal: Mapping[str, ToolCallRecord]
) -> None:
    """Add a result for each call that was waiting, for a run that ends before it has said anything.

    If an earlier attempt or the user's application has made the call, its own result is added: a model that reads that
    the call was not carried out would make it again.
    """
    settled_outcomes = find_settled_calls(answered)
    for interrupt in answered.interrupts:
        call_record, outcome = journal.get(interrupt.tool_call_id), settled_outcomes.get(interrupt.tool_call_id)
        output, end = NOT_CARRIED_OUT, CallEnd.REFUSED
        if call_record is not None:
            output, end = call_record.output or "", CallEnd.SUCCEEDED
        elif outcome is not None and interrupt.is_client_call and not judges_questions(agent):
            output, end = outcome.output, outcome.end
        transcript.add_result(transcript.new_id(), agent, interrupt.model_call, fit_result(output, agent), end=end)
