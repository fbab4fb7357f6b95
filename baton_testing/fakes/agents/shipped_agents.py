"""Agents in memory."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition

_DEFAULTS = {"name": "Assistant", "description": "Helps.", "system_prompt": "You help.", "main": True}


def agent(agent_id: str = "assistant", **fields: Any) -> AgentDefinition:
    """Return an agent definition with default values for the fields that a test does not set."""
    return AgentDefinition.model_validate({"id": agent_id} | _DEFAULTS | fields)


class FakeShippedAgents:
    """``ports.agents.agents.ShippedAgents``; the first of ``definitions`` is the default main agent."""

    def __init__(self, *definitions: AgentDefinition) -> None:
        self.definitions = {definition.id: definition for definition in definitions or (agent(),)}
        self.libraries: frozenset[str] = frozenset()

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self.definitions.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self.definitions.values(), key=lambda definition: definition.id)

    def get_default_main(self) -> AgentDefinition:
        return next(iter(self.definitions.values()))
