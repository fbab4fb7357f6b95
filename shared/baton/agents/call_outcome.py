"""The outcomes of a tool call and of an agent's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.handoff_rules import Refusal
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.runs.call_card import CallCard
from baton.domain.runs.conversation_data import DataChange
from baton.domain.runs.tool_call import CallEnd, ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import FollowedProcedure
from baton.memory.prompt.history_window import WindowedHistory
from baton.ports.agents.agent_client import AgentReport

STOPPED = "The user stopped this."
FAULT = "Error: the tool could not be used because of an internal fault."


@dataclass(frozen=True, slots=True)
class Transfer:
    """A handoff that an agent or a trigger asks for."""

    target: AgentDefinition
    handoff: HandoffDefinition
    reason: str
    summary: str | None
    """The summary of the conversation for the target; None if it must still be written."""
    workflow_id: str | None = None
    """The unfinished workflow to continue; None to begin a new one."""
    refusal: Refusal | None = None
    """The reason why the handoff is refused; None if it is not."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call."""

    output: str
    """The complete output. The model gets as much of it as its agent's limits allow."""
    error: str | None = None
    """The reason why it failed; None if it succeeded."""
    task_id: str | None = None
    task_status: str | None = None
    is_refused: bool = False
    """True if it was not executed."""
    is_withheld: bool = False
    """True if the tool succeeded, and a hook has refused its result."""
    is_outage: bool = False
    """True if it failed because a tool or agent was unavailable. Baton says so to the user."""
    sources: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    """Tokens that other agents used for it. They count against the asking agent's budget."""
    ends_conversation: bool = False
    stays_silent: bool = False
    waits: bool = False
    """True if it needs an approval first, or the user's application carries it out. Nothing was done yet."""
    waits_for: ToolCall | None = None
    """The call that waits in its place: the one that completes a workflow."""
    refused_to: str | None = None
    """The state to which the refusing tool sends a workflow back; empty if it names none, None without a refusal."""
    transfer: Transfer | None = None
    """The handoff that it asks for, with the reason if that is refused."""
    returns: AgentReport | None = None
    """The specialist's report, if the call ends the handoff."""
    data: DataChange | None = None
    """Its change of the conversation's data."""
    files: tuple[Mapping[str, Any], ...] = ()
    """The files that it has attached; they are among the sources too."""

    @property
    def end(self) -> CallEnd:
        """The end of the call, for display."""
        if self.error is None:
            return CallEnd.SUCCEEDED
        return CallEnd.REFUSED if self.is_refused else CallEnd.FAILED

    @classmethod
    def refused(cls, message: str) -> CallOutcome:
        """Return the outcome of a call that was not executed; ``message`` is for the model and for the record."""
        return cls.failed(message, is_refused=True)

    @classmethod
    def failed(cls, message: str, **fields: Any) -> CallOutcome:
        """Return the outcome of a failed call; ``message`` is for the model and for the record."""
        return cls(message, error=message.removeprefix("Error: "), **fields)


@dataclass(slots=True)
class AgentResult:
    """The result of one agent's answer, so far or however it ended."""

    agent: AgentDefinition
    model: str | None
    """The model that answered; None if the agent does not name it."""
    usage: Usage
    has_answered: bool = False
    """True if its last words are an answer, and not only calls."""
    is_limited: bool = False
    """True if something that it needed was unavailable. Baton says so to the user."""
    waiting: list[ToolCall] = field(default_factory=list)
    """Calls that a person has to approve or that the user's application carries out; they interrupt the run."""
    cards: dict[str, CallCard] = field(default_factory=dict)
    """The calls to approve in words, by call id."""
    transfer: Transfer | None = None
    """The handoff that it asks for, or the reason why that is refused, in words for the user."""
    returns: AgentReport | None = None
    """Its report, if it hands the conversation back."""
    ends_conversation: bool = False
    stays_silent: bool = False
    """True if it has nothing to say in a run that no message of the user has begun."""
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures in its prompt."""
    history: WindowedHistory | None = None
    """The message history as its last prompt had it; None for an agent that got none."""
    remote_task_id: str | None = None
    """The task that a remote agent continues with at the user's next message."""
