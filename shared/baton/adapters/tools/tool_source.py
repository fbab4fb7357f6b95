"""The interface of all kinds of external tools, and names for them that models accept."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from baton.domain.agents.approval_question import find_question_problem
from baton.domain.agents.tool import BUILTIN_TOOLS, BackgroundRules, ToolDefinition
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.type_check import TypeCheck
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

MAX_NAME = 64
"""The maximum length of a tool's name, in characters: the limit of model providers."""

ServerTool = tuple[str, str]
"""A server's name and the tool's name there."""


def assign_names(declared: Collection[str], tools: Sequence[ServerTool]) -> dict[ServerTool, str]:
    """Return the names of the ``tools`` of servers, whatever their order. None of them is a ``declared`` name.

    A tool keeps its name (with ``_`` for other characters) unless another tool or a built-in one has the same name.
    Then the server's name is added as a prefix.
    """
    counts = Counter(make_plain_name(own_name) for _, own_name in set(tools))
    names: dict[ServerTool, str] = {}
    for server, own_name in set(tools):
        name = make_plain_name(own_name)
        if counts[name] == 1 and name not in declared and BUILTIN_TOOLS.fullmatch(name) is None:
            names[server, own_name] = name
    taken = set(names.values()) | set(declared)
    others = [tool for tool in set(tools) if tool not in names]
    counts = Counter(make_prefixed_name(*tool) for tool in others)
    for tool in others:
        name = make_prefixed_name(*tool)
        names[tool] = name if counts[name] == 1 and name not in taken else _add_digest(name, *tool)
    return names


def make_plain_name(own_name: str) -> str:
    """Return a tool's own name with the characters and length that model providers accept."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", own_name)
    return name if 0 < len(name) <= MAX_NAME else _add_digest(name, own_name)


def make_prefixed_name(server: str, own_name: str) -> str:
    """Return a tool's own name with its server's name as a prefix."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}_{own_name}")
    if BUILTIN_TOOLS.fullmatch(name):
        name = f"mcp_{name}"
    return name if len(name) <= MAX_NAME else _add_digest(name, server, own_name)


def _add_digest(name: str, *parts: str) -> str:
    """Return ``name``, cut to ``MAX_NAME`` characters with a digest of ``parts`` that makes it unique."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"


D = TypeVar("D", bound=ToolDefinition)
GRACE_SECONDS = 1.0
"""Seconds added to a client's timeout, so that the toolbox's time limit for the call always ends first."""


class Unreachable(ToolFailed):
    """The endpoint failed, which is an outage. Circuit breakers count this, but no other ``ToolFailed``."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_outage=True)


class UnusableDocument(Exception):
    """An OpenAPI document, or the operation in it, cannot be used. The message gives the operator the reason."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source describes it."""

    own_name: str
    """The source's name for the tool, which may be any text. ``assign_names`` assigns the name for the model."""
    description: str
    parameters: Mapping[str, Any]
    """A valid JSON Schema of type object."""
    requires_approval: bool
    label: str | None = None
    """The tool's name for people; None to show its own name."""
    asks: str | None = None
    """The question for a person who approves a call. Its placeholders fit the parameters."""
    check: TypeCheck | None = None
    """The check of arguments by the types of the tool's function; None without one."""
    background: BackgroundRules | None = None
    """The rules of a tool that may answer later; None for other tools."""

    @property
    def question_problem(self) -> str | None:
        """The placeholder of the question that is not an argument, as a sentence; None if all are."""
        return find_question_problem(self.asks, ArgumentSchema(self.parameters)) if self.asks is not None else None


class ToolSource(ABC, Generic[D]):
    """Tools of one kind of definition."""

    def get_origin(self, definition: D) -> str:
        """Return the origin of the definition's tools, for records."""
        return definition.type

    def find_endpoint(self, definition: D) -> str | None:
        """Return the name of the circuit breaker for calls of the definition's tools; None without an endpoint."""
        return None

    def must_ask(self, definition: D) -> bool:
        """Return whether ``list_tools`` would now call the endpoint instead of using a cache."""
        return False

    def may_recover(self, definition: D) -> bool:
        """Return whether a failure of ``list_tools`` may be temporary. Otherwise only a new deployment helps."""
        return False

    @abstractmethod
    async def list_tools(self, definition: D) -> Sequence[SourceTool]:
        """Return the tools of ``definition``.

        Raises ``ToolFailed``, ``Unreachable`` if the endpoint fails, and other errors if the tool cannot be loaded.
        """

    @abstractmethod
    async def call(
        self, definition: D, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool ``own_name``.

        Raises ``ToolFailed``, ``Unreachable`` if the endpoint fails, ``Unauthorized`` and ``StoreUnavailable`` for its
        credentials, and any error of a tool in Python.
        """

    async def read_task(self, definition: D, location: str, context: CallContext, *, deletes: bool) -> ToolResult:
        """Read or delete the state of work that a call has begun. Raises as ``call`` does."""
        raise ToolFailed("This tool has no work that outlives its calls.", is_refused=True)
