"""The result of a run's dialogue, and the events that end the run with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent

from baton.agents.attempt_context import ScreenedQuestion
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import BatonError, Interrupted, ModelError, SpendingRefusal, TurnTimeout
from baton.domain.memory.episode import EpisodeRef
from baton.domain.metrics import Metric, count
from baton.domain.runs.call_card import CallCard
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.threads.events import make_run_error, make_run_finished, make_thread_closed
from baton.domain.threads.history_window import HistoryWindow, SummaryDue
from baton.domain.threads.message import StoredMessage, find_result
from baton.domain.threads.run_end import FollowedProcedure, OutcomeType
from baton.domain.threads.running_conversation import RunningConversation
from baton.threads.handoffs.forks import ForkedExchange


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
    """Calls that a person has to approve or that the user's application carries out."""
    cards: Mapping[str, CallCard] = field(default_factory=dict)
    """Descriptions of the waiting calls for people, by call id."""
    ends_conversation: bool = False
    """True if an agent has closed the conversation and its answer is complete."""
    is_cancelled: bool = False
    is_delivered: bool = False
    """True if people answer: the user's message was delivered to a desk."""
    error: BatonError | None = None
    forked: ForkedExchange | None = None
    """The exchange in the specialist's fork, which has yet to be written there."""
    windows: tuple[HistoryWindow, ...] = ()
    """The windows of the histories of the main and the active agent after the run."""
    summary_due: SummaryDue | None = None
    """The messages to summarise for the active agent after the run."""
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures in the agents' prompts."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """The versions of the tenant's agents that took part, by the agent's id."""
    screened: ScreenedQuestion = field(default_factory=ScreenedQuestion)
    """The verdict of guardrails on the user's message."""

    @property
    def outcome(self) -> OutcomeType:
        """The outcome of the run. An error comes first, then a cancellation, a delivery and an interrupt."""
        if self.error is not None:
            return OutcomeType.ERROR
        if self.is_cancelled:
            return OutcomeType.CANCELLED
        if self.is_delivered:
            return OutcomeType.DELIVERED
        return OutcomeType.INTERRUPT if self.waiting else OutcomeType.SUCCESS


def count_failure(error: BatonError | None) -> None:
    """Count a run that has ended with an error, if it has. Internal errors were counted where they were caught."""
    match error:
        case Interrupted():
            count(Metric.TURNS_INTERRUPTED)
        case TurnTimeout():
            count(Metric.TURNS_TIMED_OUT)
        case SpendingRefusal():
            pass  # the tenant's own limits, and no failure of the model
        case ModelError():
            count(Metric.MODEL_FAILURES)


def make_end_events(
    thread_id: str,
    run_id: str,
    result: DialogueResult,
    pending: PendingInterrupts | None,
    session: EpisodeRef | None,
    *,
    is_cut: bool,
) -> list[BaseEvent]:
    """Return the last events of a run.

    ``pending`` has the interrupts for which the thread waits after the run. ``session`` is the session that ended with
    the run, if one did. ``is_cut`` says that an answer of the run was cut at its length limit.
    """
    if result.error is not None:
        return [make_run_error(result.error, result.usage, result.model)]
    finished_event = make_run_finished(
        thread_id,
        run_id,
        usage=result.usage,
        model=result.model,
        outcome_type=result.outcome,
        interrupts=pending.interrupts if pending else (),
        is_cut=is_cut,
        result=find_result(result.messages) if result.outcome is OutcomeType.SUCCESS else None,
    )
    return [make_thread_closed(session.reason, session.id), finished_event] if session is not None else [finished_event]
