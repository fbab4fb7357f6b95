"""A world without tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.ports.tools import CallContext, OfferedTools, ToolFailed, ToolResult


class NoTools:
    """``ports.tools.Tools`` that offers nothing."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """Nothing."""
        return OfferedTools()

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Fails: nothing was offered."""
        raise ToolFailed(f"There is no tool {name}.")
