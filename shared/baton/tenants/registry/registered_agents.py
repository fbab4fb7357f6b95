"""The agents that exist for one tenant at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

from baton.domain.agents.agent import AgentDefinition, is_desk
from baton.domain.errors import UnknownAgent
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.agents.agents import ShippedAgents


class RegisteredAgents:
    """The agents that ship with the deployment and a tenant's own. They never change, so a run sees one state of them.

    For a caller who lacks a permission of an agent, that agent does not exist. If a shipped agent and one of the
    tenant's have the same id, only the shipped one exists.
    """

    def __init__(self, shipped: ShippedAgents, own: Mapping[str, AgentDefinition]) -> None:
        """Copy the agents of ``shipped``, which may be exchanged while runs continue."""
        self._default = shipped.get_default_main()
        self._shipped = {agent.id: agent for agent in shipped.all()}
        self._own = own
        self.libraries = shipped.libraries

    def describe(self, agent_id: str) -> AgentDefinition | None:
        """Return the definition, whatever the caller's permissions; None if there is no such agent."""
        return self._shipped.get(agent_id) or self._own.get(agent_id)

    def with_change(self, change: Callable[[AgentDefinition], AgentDefinition]) -> RegisteredAgents:
        """Return these agents with each definition replaced by the result of ``change``."""
        agents = copy(self)
        agents._default = change(self._default)
        agents._shipped = {name: change(agent) for name, agent in self._shipped.items()}
        agents._own = {name: change(agent) for name, agent in self._own.items()}
        return agents

    def all(self) -> list[AgentDefinition]:
        """Return every agent, by id."""
        agents = {agent.id: agent for agent in self._own.values()} | self._shipped
        return sorted(agents.values(), key=lambda agent: agent.id)

    def list_visible(self, scope: Scope) -> list[AgentDefinition]:
        """Return every agent the caller may talk to, by id."""
        return [agent for agent in self.all() if not list_missing_permissions(scope, agent)]

    def get(self, scope: Scope, agent_id: str) -> AgentDefinition:
        """Return one agent. Raises ``UnknownAgent`` if there is none or the caller lacks a permission."""
        agent = self.describe(agent_id)
        if agent is None:
            raise UnknownAgent
        for permission in list_missing_permissions(scope, agent):
            raise UnknownAgent(permission=permission)
        return agent

    def for_new_thread(self, scope: Scope, agent_id: str | None) -> AgentDefinition:
        """Return the main agent of a new conversation. Raises ``UnknownAgent``."""
        agent = self.get(scope, agent_id or self._default.id)
        if not agent.main:
            raise UnknownAgent("A conversation cannot begin with this agent.", is_visible=True)
        return agent

    def is_default(self, agent: AgentDefinition) -> bool:
        """Return whether conversations that name no agent begin with this one."""
        return agent.id == self._default.id

    def list_offered_desks(self, scope: Scope, agent: AgentDefinition) -> list[AgentDefinition]:
        """Return the desks that ``agent`` hands over to and the caller may ask for, in the order of its handoffs."""
        permitted = (
            self.describe(handoff.agent)
            for handoff in agent.handoffs
            if all(map(scope.has, handoff.required_permissions))
        )
        return [
            desk
            for desk in permitted
            if desk is not None and is_desk(desk) and not list_missing_permissions(scope, desk)
        ]

    def check_main(self, scope: Scope, thread: Thread) -> None:
        """Raise ``UnknownAgent`` unless the caller may talk to the thread's main agent."""
        self.get(scope, thread.agent_id)

    def get_main(self, thread: Thread) -> AgentDefinition:
        """Return the thread's main agent, or the default one if it no longer exists."""
        return self.describe(thread.agent_id) or self._default

    def get_answering(self, thread: Thread) -> AgentDefinition:
        """Return the active agent of a thread, or the default one if it no longer exists."""
        return self.describe(thread.active_agent_id) or self._default

    def list_sub_agents(self, scope: Scope, agent: AgentDefinition) -> list[AgentDefinition]:
        """Return the agents that ``agent`` may consult on behalf of the caller."""
        definitions = (self.describe(agent_id) for agent_id in agent.sub_agents if agent_id != agent.id)
        return [other for other in definitions if other is not None and not list_missing_permissions(scope, other)]


def make_placeholder_agent(agent_id: str) -> AgentDefinition:
    """Return a placeholder for an agent that no longer exists, for messages about it."""
    return AgentDefinition(id=agent_id, name=agent_id, description="No longer here.", system_prompt="-")


def list_missing_permissions(scope: Scope, agent: AgentDefinition) -> list[str]:
    """Return the permissions of an agent that the caller lacks."""
    return [permission for permission in agent.required_permissions if not scope.has(permission)]
