"""The outcome of a tool call, and the result of an agent's answer."""

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
from baton.domain.threads.run_end import FollowedProcedure
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
    """The reason why the handoff is refused; None if it is allowed."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call of a tool or agent."""

    output: str
    """The complete output. The model gets the beginning, as much as its agent's limits allow."""
    error: str | None = None
    """The reason why the call failed; None if it succeeded."""
    task_id: str | None = None
    task_status: str | None = None
    is_refused: bool = False
    """True if the call was not executed."""
    is_withheld: bool = False
    """True if the tool succeeded, but a hook has refused its result."""
    is_outage: bool = False
    """True if the call failed because a tool or agent was unavailable. Baton informs the user about it."""
    sources: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    """Tokens that other agents used for the call. They count against the asking agent's budget."""
    ends_conversation: bool = False
    stays_silent: bool = False
    waits: bool = False
    """True if the call waits for an approval, or for the user's application to carry it out."""
    waits_for: ToolCall | None = None
    """The call that waits in place of this one: the call that completes a workflow."""
    refused_to: str | None = None
    """The state to which the refusing tool sends a workflow back; empty if it names none, None without a refusal."""
    transfer: Transfer | None = None
    """The handoff that the call asks for. It has the reason if the handoff is refused."""
    returns: AgentReport | None = None
    """The specialist's report, if the call ends the handoff."""
    data: DataChange | None = None
    """The call's change of the conversation's data."""
    files: tuple[Mapping[str, Any], ...] = ()
    """The files that the call has attached. They are among the sources too."""

    @property
    def end(self) -> CallEnd:
        """The way in which the call ended, for display."""
        if self.error is None:
            return CallEnd.SUCCEEDED
        return CallEnd.REFUSED if self.is_refused else CallEnd.FAILED

    @classmethod
    def refused(cls, message: str) -> CallOutcome:
        """Return the outcome of a call that was not executed; ``message`` is for the model and for the record."""
        return cls.failed(message, is_refused=True)

    @classmethod
    def failed(
        cls,
        message: str,
        *,
        is_refused: bool = False,
        is_outage: bool = False,
        refused_to: str | None = None,
        transfer: Transfer | None = None,
    ) -> CallOutcome:
        """Return the outcome of a failed call; ``message`` is for the model and, without "Error: ", for the record."""
        return cls(
            message,
            error=message.removeprefix("Error: "),
            is_refused=is_refused,
            is_outage=is_outage,
            refused_to=refused_to,
            transfer=transfer,
        )


@dataclass(slots=True)
class AgentResult:
    """The result of one agent's work. It grows while the agent works, and also describes answers that failed."""

    agent: AgentDefinition
    model: str | None
    """The model that answered; None if the agent does not name it."""
    usage: Usage
    has_answered: bool = False
    """True if the last output of the model is an answer, and not only calls."""
    is_limited: bool = False
    """True if a tool or agent that it needed was unavailable. Baton informs the user about it."""
    waiting: list[ToolCall] = field(default_factory=list)
    """Calls that a person has to approve or that the user's application carries out; they interrupt the run."""
    cards: dict[str, CallCard] = field(default_factory=dict)
    """Descriptions of the calls to approve, by call id."""
    transfer: Transfer | None = None
    """The handoff that the agent asks for. It has the reason, in words for the user, if the handoff is refused."""
    returns: AgentReport | None = None
    """The agent's report, if it hands the conversation back."""
    ends_conversation: bool = False
    stays_silent: bool = False
    """True if the agent shows no answer in a run that no message of the user began."""
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures in the agent's prompt."""
    history: WindowedHistory | None = None
    """The message history in the agent's last prompt; None for an agent that gets no history."""
    remote_task_id: str | None = None
    """The task of a remote agent that continues with the user's next message."""
