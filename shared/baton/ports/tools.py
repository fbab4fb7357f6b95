"""Tools of an agent that live outside Baton: MCP servers, HTTP operations, functions shipped with the deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.ports.chat_model import ToolSpec


class ToolFailed(Exception):
    """A call came to nothing; ``message`` is told to the model, so it says what could be tried instead.

    ``is_outage``: the tool could not be reached or did not answer in time, which is nobody's fault here; else it
    answered, with an error. ``is_refused``: it was not even called, for the call made no sense or is not allowed.
    """

    def __init__(self, message: str, *, is_outage: bool = False, is_refused: bool = False) -> None:
        self.message = message
        self.is_outage = is_outage
        self.is_refused = is_refused
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the agent's model sees it, and what Baton must know about it."""

    spec: ToolSpec
    """Its name is unique among the agent's tools; ``parameters`` is a valid JSON Schema of type object."""
    origin: str
    """Where it comes from, for records: ``mcp:<server>``, ``http``, ``openapi`` or ``python``."""
    requires_approval: bool = False
    """Whether a person must agree to each call."""
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Tools that an agent should have and that cannot be had right now."""

    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """What an agent may call in this turn."""

    tools: tuple[Tool, ...] = ()
    missing: tuple[MissingTools, ...] = ()


@dataclass(frozen=True, slots=True)
class CallContext:
    """On whose behalf, and in which turn, a tool is called."""

    scope: Scope
    thread_id: str
    run_id: str
    agent_id: str
    call_id: str
    idempotency_key: str
    """The same for every attempt at this very call, also by another worker after a crash."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered."""

    text: str
    """For the model, whole: it is capped elsewhere."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """``{kind, id, title, url?}`` of what the answer rests on, where the tool says."""


class Tools(Protocol):
    """All tools outside Baton."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """The agent's tools that the scope's user may use. A source that cannot be reached is missing, not an error."""
        ...

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call a tool that was offered, with arguments that fit its schema.

        Cancelling stops the call. Raises ``ToolFailed``, also when the tool's time is over.
        """
        ...
