"""Minimal ports for the measured turns: no tools, no remote agents, agents in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.ports.agent_client import AgentChunk, AgentFailed, AgentTask
from baton.ports.tools import CallContext, OfferedTools, ToolFailed, ToolResult


class NoTools:
    """Implements ``ports.tools.Tools`` for agents without tools."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        return OfferedTools((), ())

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        raise ToolFailed(f"There is no tool {name!r}.")


class NoRemoteAgents:
    """Implements ``ports.agent_client.AgentClient`` for a deployment without remote agents."""

    async def stream(self, agent: AgentDefinition, task: AgentTask) -> AsyncGenerator[AgentChunk, None]:
        raise AgentFailed(f"The agent {agent.id} does not run elsewhere.")
        yield  # makes this a generator, as the port requires


class AgentsInMemory:
    """Implements ``ports.agent_catalog.AgentCatalog``. The first of ``definitions`` is the default main agent."""

    def __init__(self, *definitions: AgentDefinition) -> None:
        self._definitions = {definition.id: definition for definition in definitions}

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self._definitions.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self._definitions.values(), key=lambda definition: definition.id)

    def default_main(self) -> AgentDefinition:
        return next(iter(self._definitions.values()))
