"""The dialogue of a run: the answers of its agents as AG-UI events, and one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.approvals import settled_calls
from baton.agents.transcript import Transcript
from baton.dialogue.agent_router import AgentRouter
from baton.dialogue.dialogue_input import DialogueInput
from baton.domain.agent import AgentDefinition
from baton.domain.episode import EpisodeRef
from baton.domain.errors import (
    BatonError,
    InternalError,
    Interrupted,
    LeaseLost,
    ModelError,
    ModelUnavailable,
    StoreUnavailable,
    TurnTimeout,
)
from baton.domain.events import run_error, run_finished, run_started, state_snapshot, thread_closed
from baton.domain.history_window import HistoryWindow, SummaryDue
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import FollowedProcedure, OutcomeType, StoredMessage, result_of
from baton.domain.metrics import Metric, count
from baton.domain.running_conversation import RunningConversation
from baton.domain.tool_call import CallEnd, ToolCall, ToolCallRecord
from baton.domain.usage import ModelUsage, Usage, by_model
from baton.handoffs.forks import ForkedExchange
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT

logger = Logger()


@dataclass(frozen=True, slots=True)
class DialogueResult:
    """The result of a run, for its commit and its last events."""

    messages: tuple[StoredMessage, ...]
    """The messages of the run in order, without the user's message."""
    conversation: RunningConversation
    """The conversation state at the end of the run."""
    usage: Usage
    """The usage of all models."""
    model: str | None
    """The name of the last agent's model; None if no model spoke."""
    agent: AgentDefinition | None
    """The agent that spoke last; None if the last message is Baton's own, or no agent spoke."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls that a person has to approve."""
    ends_conversation: bool = False
    """Whether an agent has closed the conversation and its answer is complete."""
    is_cancelled: bool = False
    error: BatonError | None = None
    forked: ForkedExchange | None = None
    """The exchange in the specialist's fork, which has yet to be written there."""
    windows: tuple[HistoryWindow, ...] = ()
    """Where the histories of the main and the active agent begin after the run."""
    summary_due: SummaryDue | None = None
    """What is to be summarised for the active agent after the run."""
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures in the agents' prompts."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model."""

    @property
    def outcome(self) -> OutcomeType:
        """Return how the run ends."""
        if self.error is not None:
            return OutcomeType.ERROR
        if self.is_cancelled:
            return OutcomeType.CANCELLED
        return OutcomeType.INTERRUPT if self.waiting else OutcomeType.SUCCESS


class Dialogue:
    """Answers a turn: emits its agents' answers as AG-UI events, and then returns one result.

    It handles neither connections nor sequence numbers.
    """

    def __init__(self, given: DialogueInput) -> None:
        self._input = given
        self._router = AgentRouter(given)
        self._error: BatonError | None = None
        self._is_cancelled = False

    async def run(self) -> None:
        """Emit the events from RUN_STARTED on, without the run's last event. Every opened message and step is closed.

        The caller commits the run and sends its last event (RUN_FINISHED or RUN_ERROR). A failure becomes the result's
        ``error``. Raises ``LeaseLost`` and ``StoreUnavailable``: then another worker takes the run over.
        """
        given, context = self._input, self._input.context
        context.emit(started(given))
        context.emit(state_snapshot(given.tracker.current.shown))
        if given.ends_at_once_as is not None and not given.asks_no_model:
            # No model is called: the run is given up, or was cancelled while it waited.
            self._error = Interrupted() if given.ends_at_once_as is OutcomeType.ERROR else None
            self._is_cancelled = self._error is None
            return
        try:
            await self._router.answer()
            self._is_cancelled = context.stop.is_set() and not given.asks_no_model
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - it becomes the run's error
            self.fail(error)
        context.emit_all(given.tracker.step_ends())

    def fail(self, error: Exception) -> None:
        """End the run with ``error``. The user gets an unexpected one as an ``InternalError``."""
        if isinstance(error, BatonError):
            self._error = error
            return
        context = self._input.context
        logger.error("turn failed", exc_info=error, thread_id=context.thread_id, run_id=context.run.run_id)
        count(Metric.INTERNAL_FAULTS)
        self._error = InternalError()

    def finish(self) -> DialogueResult:
        """Return the result, once ``run`` has returned."""
        given, routed = self._input, self._router.result
        if given.answered is not None and not given.transcript.messages:
            tell_results(given.transcript, given.agent, given.answered, given.context.journal)
        last = routed.last
        result = DialogueResult(
            messages=tuple(given.transcript.messages),
            conversation=given.tracker.current,
            usage=routed.usage,
            model=routed.model,
            agent=last.agent if last is not None else None,
            waiting=last.waiting if last is not None else (),
            is_cancelled=self._is_cancelled,
            error=self._error,
            forked=routed.forked,
            windows=routed.windows,
            summary_due=routed.summary_due,
            followed=routed.followed,
            spent=by_model(given.context.spent),
        )
        if result.outcome is not OutcomeType.SUCCESS:
            return result
        if not routed.has_answered:
            return replace(result, error=ModelUnavailable("The model gave an empty answer. Please try again."))
        return replace(result, ends_conversation=last is not None and last.ends_conversation)


def count_failure(error: BatonError | None) -> None:
    """Count a run that has ended with an error. Internal errors were counted where they were caught."""
    match error:
        case Interrupted():
            count(Metric.TURNS_INTERRUPTED)
        case TurnTimeout():
            count(Metric.TURNS_TIMED_OUT)
        case ModelError():
            count(Metric.MODEL_FAILURES)


def started(given: DialogueInput) -> BaseEvent:
    """Return RUN_STARTED with the message or the answers that the run answers."""
    answered = given.answered
    return run_started(
        given.context.thread_id,
        given.context.run.run_id,
        given.opening,
        previous_seq=given.previous_seq,
        parent_run_id=answered.run_id if answered else None,
        answers=[each.answer for each in answered.interrupts if each.answer is not None] if answered else (),
    )


def end_events(
    thread_id: str,
    run_id: str,
    result: DialogueResult,
    pending: PendingInterrupts | None,
    ended: EpisodeRef | None,
    *,
    is_cut: bool,
) -> list[BaseEvent]:
    """Return the last events of a run.

    ``pending`` is what the thread waits for after the run. ``ended`` is the session that ended with the run, if one
    did. ``is_cut`` is whether an answer of the run was cut off at its length limit.
    """
    if result.error is not None:
        return [run_error(result.error, result.usage, result.model)]
    finished = run_finished(
        thread_id,
        run_id,
        usage=result.usage,
        model=result.model,
        cancelled=result.is_cancelled,
        interrupts=pending.interrupts if pending else (),
        is_cut=is_cut,
        result=result_of(result.messages) if result.outcome is OutcomeType.SUCCESS else None,
    )
    return [thread_closed(ended.reason, ended.id), finished] if ended is not None else [finished]


def tell_results(
    transcript: Transcript,
    agent: AgentDefinition,
    answered: PendingInterrupts,
    journal: Mapping[str, ToolCallRecord],
) -> None:
    """Add a result for each call that was waiting, for a run that ends before it has said anything.

    The result of a call that an earlier attempt or the user's application has made is told. If it said that the call
    was not carried out, the next turn's model would make it again.
    """
    settled = settled_calls(answered)
    for interrupt in answered.interrupts:
        made, given = journal.get(interrupt.tool_call_id), settled.get(interrupt.tool_call_id)
        output, end = NOT_CARRIED_OUT, CallEnd.REFUSED
        if made is not None:
            output, end = (made.output or "")[: agent.limits.result_chars], CallEnd.SUCCEEDED
        elif given is not None and interrupt.is_client_call:
            output, end = given.output[: agent.limits.result_chars], given.end
        call = ToolCall(interrupt.tool_call_id, interrupt.tool_name, "{}")
        transcript.add_result(transcript.new_id(), agent, call, output, end=end)
