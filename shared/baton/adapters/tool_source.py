"""What every kind of outside tools has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from baton.ports.tools import CallContext, ToolFailed, ToolResult

D = TypeVar("D", contravariant=True)
GRACE_SECONDS = 1.0
"""Of silence beyond a call's own time, which the toolbox keeps: of two clocks for one limit, either could win."""


class Unreachable(ToolFailed):
    """The endpoint failed, rather than refused: what circuit breakers count."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source knows it."""

    own_name: str
    """Any text; what the model calls it is decided elsewhere."""
    description: str
    parameters: Mapping[str, Any]
    """A valid JSON Schema of type object."""
    requires_approval: bool


class ToolSource(Protocol[D]):
    """Tools of one kind of definition."""

    def origin(self, definition: D) -> str:
        """Where its tools come from, for records."""
        ...

    def endpoint(self, definition: D) -> str | None:
        """What fails as a whole, as the circuit breaker names it; None: nothing that could be out of reach."""
        ...

    def must_ask(self, definition: D) -> bool:
        """Whether ``tools`` would use the endpoint now, rather than answer from what is known."""
        ...

    def may_recover(self, definition: D) -> bool:
        """Whether a failure of ``tools`` may pass by itself; else nothing helps but another deployment."""
        ...

    async def tools(self, definition: D) -> Sequence[SourceTool]:
        """The tools of ``definition``. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""
        ...

    async def call(
        self, definition: D, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call one of them. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""
        ...
