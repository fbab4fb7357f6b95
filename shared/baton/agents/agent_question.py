"""A question of one agent to another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from baton.agents.attempt_context import EmitEvent
from baton.agents.call_outcome import CallOutcome
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall

Judge = Callable[[CallOutcome], Awaitable[CallOutcome]]
"""Returns an outcome as hooks leave it."""


def show_nothing(label: str) -> None:
    """Show nothing, where no user waits."""


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A question of one agent to another."""

    call: ToolCall
    agent: AgentDefinition
    """The agent that is asked."""
    message: str
    data: Mapping[str, Any] | None = None
    """A structured answer to a remote agent's question."""
    report: Callable[[str], None] = show_nothing
    """Shows the user the agent's reports on its work."""
    judge: Judge | None = None
    """Has the hooks of the agent that asks judge the outcome, before it is stored; None without any."""


Consult = Callable[[AgentQuestion, EmitEvent], Awaitable[CallOutcome]]
"""Consults an agent: the question, and the callback for events."""
