"""The agents of this deployment."""

from __future__ import annotations

from typing import Protocol

from baton.domain.agent import AgentDefinition


class AgentCatalog(Protocol):
    """Agent definitions by id."""

    def get(self, agent_id: str) -> AgentDefinition | None:
        """Return the definition, or None if there is no such agent."""
        ...

    def all(self) -> list[AgentDefinition]:
        """Return every definition, sorted by id."""
        ...

    def default_main(self) -> AgentDefinition:
        """Return the main agent of conversations whose first message names none."""
        ...
