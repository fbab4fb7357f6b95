"""The agents of this deployment."""

from __future__ import annotations

from typing import Protocol

from baton.domain.agent import AgentDefinition


class AgentCatalog(Protocol):
    """Agent definitions by id."""

    def get(self, agent_id: str) -> AgentDefinition | None:
        """The definition, or None if there is no such agent."""
        ...

    def all(self) -> list[AgentDefinition]:
        """Every definition, sorted by id."""
        ...

    def default_main(self) -> AgentDefinition:
        """The agent a conversation begins with when its first message names none."""
        ...
