"""The interface of all kinds of external tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from baton.ports.tools import CallContext, ToolFailed, ToolResult

D = TypeVar("D", contravariant=True)
GRACE_SECONDS = 1.0
"""Added to a client's timeout, so that the toolbox's time limit for the call always ends first."""


class Unreachable(ToolFailed):
    """The endpoint failed. Circuit breakers count this, but not refusals."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source knows it."""

    own_name: str
    """The source's name for it, which may be any text. ``tool_names`` assigns the name for the model."""
    description: str
    parameters: Mapping[str, Any]
    """A valid JSON Schema of type object."""
    requires_approval: bool


class ToolSource(Protocol[D]):
    """Tools of one kind of definition."""

    def origin(self, definition: D) -> str:
        """Return where its tools come from, for records."""
        ...

    def endpoint(self, definition: D) -> str | None:
        """Return the name of its circuit; None if it needs no endpoint."""
        ...

    def must_ask(self, definition: D) -> bool:
        """Return whether ``tools`` would call the endpoint now instead of using its cache."""
        ...

    def may_recover(self, definition: D) -> bool:
        """Return whether a failure of ``tools`` may be temporary. Otherwise only a new deployment helps."""
        ...

    async def tools(self, definition: D) -> Sequence[SourceTool]:
        """Return the tools of ``definition``. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""
        ...

    async def call(
        self, definition: D, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call one of them. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""
        ...
