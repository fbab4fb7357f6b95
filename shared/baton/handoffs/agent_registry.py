"""The agents that a caller may talk to."""

from __future__ import annotations

from baton.domain.agent import AgentDefinition
from baton.domain.errors import UnknownAgent
from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.ports.agent_catalog import AgentCatalog


class AgentRegistry:
    """The deployment's agents. For a caller who lacks a permission of an agent, that agent does not exist."""

    def __init__(self, catalog: AgentCatalog) -> None:
        self._catalog = catalog

    def visible(self, scope: Scope) -> list[AgentDefinition]:
        """Return every agent the caller may talk to, by id."""
        return [agent for agent in self._catalog.all() if not missing_permissions(scope, agent)]

    def get(self, scope: Scope, agent_id: str) -> AgentDefinition:
        """Return one agent. Raises ``UnknownAgent`` if there is none or the caller lacks a permission."""
        agent = self._catalog.get(agent_id)
        if agent is None:
            raise UnknownAgent
        for permission in missing_permissions(scope, agent):
            raise UnknownAgent(permission=permission)
        return agent

    def for_new_thread(self, scope: Scope, agent_id: str | None) -> AgentDefinition:
        """Return the main agent of a new conversation. Raises ``UnknownAgent``."""
        agent = self.get(scope, agent_id or self._catalog.default_main().id)
        if not agent.main:
            raise UnknownAgent("A conversation cannot begin with this agent.")
        return agent

    def check_main(self, scope: Scope, thread: Thread) -> None:
        """Raise ``UnknownAgent`` unless the caller may talk to the thread's main agent."""
        self.get(scope, thread.agent_id)

    def all(self) -> list[AgentDefinition]:
        """Return every agent of the deployment."""
        return self._catalog.all()

    def main(self, thread: Thread) -> AgentDefinition:
        """Return the thread's main agent, or the default one if it is no longer deployed."""
        return self._catalog.get(thread.agent_id) or self._catalog.default_main()

    def gone(self, agent_id: str) -> AgentDefinition:
        """Return a placeholder for an agent that is no longer deployed, for messages about it."""
        return AgentDefinition(id=agent_id, name=agent_id, description="No longer here.", system_prompt="-")

    def answering(self, thread: Thread) -> AgentDefinition:
        """Return the active agent of a thread, or the default one if it is no longer deployed."""
        return self._catalog.get(thread.active_agent_id) or self._catalog.default_main()

    def sub_agents(self, scope: Scope, agent: AgentDefinition) -> list[AgentDefinition]:
        """Return the agents that ``agent`` may ask on behalf of the caller."""
        asked = (self._catalog.get(agent_id) for agent_id in agent.sub_agents if agent_id != agent.id)
        return [other for other in asked if other is not None and not missing_permissions(scope, other)]

    def describe(self, agent_id: str) -> AgentDefinition | None:
        """Return the definition for display in a thread, whatever the caller's permissions."""
        return self._catalog.get(agent_id)


def missing_permissions(scope: Scope, agent: AgentDefinition) -> list[str]:
    return [permission for permission in agent.required_permissions if not scope.has(permission)]
