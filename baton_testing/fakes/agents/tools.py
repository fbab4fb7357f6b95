"""Tools in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BackgroundRules
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, MissingTools, OfferedTools, Tool, ToolFailed, ToolResult

Function = Callable[..., Awaitable[str | ToolResult]]


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any]
    context: CallContext


@dataclass
class FakeTools:
    """``ports.agents.tools.Tools``: every agent has the same tools, which are async functions of their arguments."""

    calls: list[Called] = field(default_factory=list)
    states: dict[str, ToolResult | ToolFailed] = field(default_factory=dict)
    """The states of work in progress, by location."""
    reads: list[tuple[str, bool]] = field(default_factory=list)
    """The locations that were read, each with whether the work there was deleted."""
    _tools: dict[str, tuple[Tool, Function, tuple[str, ...]]] = field(default_factory=dict)
    _missing: list[MissingTools] = field(default_factory=list)

    def add(
        self,
        name: str,
        function: Function,
        *,
        description: str = "Does it.",
        parameters: Mapping[str, Any] | None = None,
        origin: str = "python",
        requires_approval: bool = False,
        required_permissions: tuple[str, ...] = (),
        timeout_seconds: float = 30.0,
        label: str | None = None,
        asks: str | None = None,
        background: BackgroundRules | None = None,
    ) -> None:
        """Add a tool that is implemented by ``function``."""
        spec = ToolSpec(name, description, parameters or {"type": "object", "properties": {}})
        tool = Tool(spec, origin, requires_approval, timeout_seconds, label, asks, background)
        self._tools[name] = tool, function, required_permissions

    def withdraw(self, name: str) -> None:
        """Remove a tool."""
        del self._tools[name]

    def lose(self, origin: str, reason: str) -> None:
        """Report that the tools of ``origin`` cannot be reached."""
        self._missing.append(MissingTools(origin, reason))

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        offered = (tool for tool, _, permissions in self._tools.values() if all(map(scope.has, permissions)))
        return OfferedTools(tuple(offered), tuple(self._missing))

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        if name not in (await self.offered(agent, context.scope)).names:
            raise ToolFailed(f"There is no tool {name!r}.")
        self.calls.append(Called(name, arguments, context))
        tool, function, _ = self._tools[name]
        try:
            async with asyncio.timeout(tool.timeout_seconds):
                answer = await function(**arguments)
        except TimeoutError:
            message = f"The tool did not answer within {tool.timeout_seconds:g} seconds."
            raise ToolFailed(message, is_outage=True) from None
        except TypeError as error:
            raise ToolFailed(f"The arguments do not fit: {error}.") from None
        return answer if isinstance(answer, ToolResult) else ToolResult(answer)

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        self.reads.append((location, deletes))
        answer = self.states.get(location, ToolFailed("There is no such work."))
        if isinstance(answer, ToolFailed):
            raise answer
        return answer
