"""The interface of all kinds of external tools, and names for them that models accept."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from baton.domain.agents.approval_question import find_problem
from baton.domain.agents.tool import BUILTIN_TOOLS, ToolDefinition
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

MAX_NAME = 64

Listed = tuple[str, str]
"""A server's name and the tool's name there."""


def assigned(declared: Collection[str], listed: Sequence[Listed]) -> dict[Listed, str]:
    """Assign names to the ``listed`` tools that differ from the ``declared`` names. Their order does not matter.

    A tool keeps its name (with ``_`` for other characters) unless another tool or a built-in one has it. Then it gets
    its server's name as a prefix.
    """
    counts = Counter(plain(own) for _, own in set(listed))
    names: dict[Listed, str] = {}
    for server, own in set(listed):
        name = plain(own)
        free = counts[name] == 1 and name not in declared and BUILTIN_TOOLS.fullmatch(name) is None
        if free:
            names[server, own] = name
    taken = set(names.values()) | set(declared)
    others = [tool for tool in set(listed) if tool not in names]
    counts = Counter(prefixed(*tool) for tool in others)
    for tool in others:
        name = prefixed(*tool)
        names[tool] = name if counts[name] == 1 and name not in taken else _mark(name, *tool)
    return names


def plain(own: str) -> str:
    """Return ``own`` with the characters and length that model providers accept."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", own)
    return name if 0 < len(name) <= MAX_NAME else _mark(name, own)


def prefixed(server: str, own: str) -> str:
    """Return ``own`` with its server's name as a prefix."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}_{own}")
    if BUILTIN_TOOLS.fullmatch(name):
        name = f"mcp_{name}"
    return name if len(name) <= MAX_NAME else _mark(name, server, own)


def _mark(name: str, *parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"


D = TypeVar("D", bound=ToolDefinition)
GRACE_SECONDS = 1.0
"""Added to a client's timeout, so that the toolbox's time limit for the call always ends first."""


class Unreachable(ToolFailed):
    """The endpoint failed. Circuit breakers count this, but not refusals."""


class UnusableDocument(Exception):
    """An OpenAPI document, or the operation in it, cannot be used. The message gives the operator the reason."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source knows it."""

    own_name: str
    """The source's name for it, which may be any text. ``tool_names`` assigns the name for the model."""
    description: str
    parameters: Mapping[str, Any]
    """A valid JSON Schema of type object."""
    requires_approval: bool
    label: str | None = None
    """Its name for people; None for its name."""
    asks: str | None = None
    """The question for a person who approves a call. Its placeholders fit the parameters."""

    @property
    def question_problem(self) -> str | None:
        """The problem of a question with a placeholder that is no argument; None if it has none."""
        return find_problem(self.asks, ArgumentSchema(self.parameters)) if self.asks is not None else None


class ToolSource(ABC, Generic[D]):
    """Tools of one kind of definition."""

    def origin(self, definition: D) -> str:
        """Return where its tools come from, for records."""
        return definition.type

    def endpoint(self, definition: D) -> str | None:
        """Return the name of its circuit; None if it needs no endpoint."""
        return None

    def must_ask(self, definition: D) -> bool:
        """Return whether ``tools`` would call the endpoint now instead of using its cache."""
        return False

    def may_recover(self, definition: D) -> bool:
        """Return whether a failure of ``tools`` may be temporary. Otherwise only a new deployment helps."""
        return False

    @abstractmethod
    async def tools(self, definition: D) -> Sequence[SourceTool]:
        """Return the tools of ``definition``. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""

    @abstractmethod
    async def call(
        self, definition: D, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call one of them. Raises ``ToolFailed``, and ``Unreachable`` if its endpoint fails."""
