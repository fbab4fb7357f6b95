"""The result of one agent's answer."""

from __future__ import annotations

from dataclasses import dataclass

from baton.agents.call_outcome import Transfer
from baton.domain.agent import AgentDefinition
from baton.domain.message import FollowedProcedure
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.memory.prompt.history_window import WindowedHistory
from baton.ports.agent_client import AgentReport


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of one agent's answer, however it ended."""

    agent: AgentDefinition
    model: str | None
    """The model that answered; None if the agent does not name it."""
    usage: Usage
    has_answered: bool = False
    """True if its last words are an answer, and not only calls."""
    is_limited: bool = False
    """True if something that it needed was unavailable. Baton says so to the user."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls that a person has to approve or that the user's application carries out; they interrupt the run."""
    transfer: Transfer | None = None
    """The handoff that it asks for, or the reason why that is refused, in words for the user."""
    returns: AgentReport | None = None
    """Its report, if it hands the conversation back."""
    ends_conversation: bool = False
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures in its prompt."""
    history: WindowedHistory | None = None
    """The message history as its last prompt had it; None for an agent that got none."""
    remote_task_id: str | None = None
    """The task that a remote agent goes on with at the user's next message."""
