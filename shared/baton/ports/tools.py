"""External tools of an agent: MCP servers, HTTP operations, functions shipped with the deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.ports.chat_model import ToolSpec


class ToolFailed(Exception):
    """A call failed. The model gets ``message``, which says how to proceed instead.

    ``is_outage``: the tool could not be reached or did not answer in time; otherwise it answered with an error.
    ``is_refused``: the tool was not called, because the call is invalid or not allowed.
    """

    def __init__(self, message: str, *, is_outage: bool = False, is_refused: bool = False) -> None:
        self.message = message
        self.is_outage = is_outage
        self.is_refused = is_refused
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the agent's model sees it, and how Baton must treat it."""

    spec: ToolSpec
    """Its name is unique among the agent's tools; ``parameters`` is a valid JSON Schema of type object."""
    origin: str
    """Its origin, for records: ``mcp:<server>``, ``http``, ``openapi`` or ``python``."""
    requires_approval: bool = False
    """True if a person must agree to each call."""
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Tools of an agent that are unavailable right now."""

    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that an agent may call in this turn."""

    tools: tuple[Tool, ...] = ()
    missing: tuple[MissingTools, ...] = ()


@dataclass(frozen=True, slots=True)
class CallContext:
    """The user and the turn that a tool is called for."""

    scope: Scope
    thread_id: str
    run_id: str
    agent_id: str
    call_id: str
    idempotency_key: str
    """The same in every attempt at this call, also by another worker after a crash."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool."""

    text: str
    """The complete text for the model. The caller caps it."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """``{kind, id, title, url?}`` of the answer's sources, if the tool names them."""


class Tools(Protocol):
    """All external tools."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """Return the agent's tools that the scope's user may use. An unreachable source is reported as missing."""
        ...

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call a tool that was offered, with arguments that fit its schema.

        Cancelling stops the call. Raises ``ToolFailed``, also after the tool's timeout, and ``Unauthorized`` if
        the tool acts for the user and there is no token of the user for it.
        """
        ...
