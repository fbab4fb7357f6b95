"""What a tool call came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.handoff import HandoffDefinition
from baton.domain.handoff_rules import Refusal
from baton.domain.tool_call import CallEnd
from baton.ports.agent_client import AgentReport


@dataclass(frozen=True, slots=True)
class Transfer:
    """A handoff that an agent, or a message's trigger, asks for."""

    target: AgentDefinition
    handoff: HandoffDefinition
    reason: str
    summary: str | None
    """What the target is told of the conversation; None: it has yet to be summarised."""
    workflow_id: str | None = None
    """The unfinished workflow to continue; None: a new one begins."""
    refusal: Refusal | None = None
    """Why it does not take place."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call came to."""

    output: str
    """Whole; the model is told as much of it as its agent's limits allow."""
    error: str | None = None
    """Why it failed; None: it succeeded."""
    task_id: str | None = None
    task_status: str | None = None
    is_refused: bool = False
    """Whether it failed without having been made."""
    is_outage: bool = False
    """Whether it failed because somebody could not be reached in time: the user is told of it."""
    sources: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    """What others have used for it, out of the asking agent's budget."""
    ends_conversation: bool = False
    waits: bool = False
    """Whether a person has to agree first; nothing was done."""
    transfer: Transfer | None = None
    """The handoff it asks for, or why that is refused in words that the user is told."""
    returns: AgentReport | None = None
    """The specialist's report, if the call hands the conversation back."""

    @property
    def end(self) -> CallEnd:
        """How the call ended, for whoever is shown it."""
        if self.error is None:
            return CallEnd.SUCCEEDED
        return CallEnd.REFUSED if self.is_refused else CallEnd.FAILED

    @classmethod
    def refused(cls, message: str) -> CallOutcome:
        """One that was never made; ``message`` is for the model and for the record."""
        return cls.failed(message, is_refused=True)

    @classmethod
    def failed(cls, message: str, **fields: Any) -> CallOutcome:
        """One that failed; ``message`` is for the model and for the record."""
        return cls(message, error=message.removeprefix("Error: "), **fields)
