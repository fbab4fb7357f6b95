"""The agents that a caller may talk to: those that ship with the deployment, and the tenant's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.agents.agents import ShippedAgents
from baton.tenants.registry.own_agents import RECHECK_AGE, OwnAgents
from baton.tenants.registry.registered_agents import RegisteredAgents, list_missing_permissions


@dataclass(frozen=True, slots=True)
class AgentRegistry:
    """The agents of all tenants. A caller of several lookups uses one ``RegisteredAgents``, which never changes.

    Every method raises ``StoreUnavailable`` if the tenant's agents cannot be read and there is no copy of them.
    """

    shipped: ShippedAgents
    own: OwnAgents

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's own agents if the copy is old, so that others need not wait."""
        self.own.begin(scope)

    async def in_force(self, scope: Scope) -> RegisteredAgents:
        """Return the agents of the scope's tenant in their versions in force, its own from a copy (``OwnAgents.of``).

        A conversation may use others: callers that have its thread ask ``in_session``.
        """
        return RegisteredAgents(self.shipped, await self.own.of(scope))

    async def in_session(self, scope: Scope, thread: Thread) -> RegisteredAgents:
        """Return the agents as the current session of ``thread`` uses them: in the versions that the session keeps."""
        return RegisteredAgents(self.shipped, await self.own.in_session(scope, thread))

    async def in_sessions(self, scope: Scope, threads: Sequence[Thread]) -> list[RegisteredAgents]:
        """Return the agents as the current session of each thread uses them, after one read for all of them."""
        return [RegisteredAgents(self.shipped, agents) for agents in await self.own.in_sessions(scope, threads)]

    async def get_in_session(self, scope: Scope, thread: Thread, agent_id: str) -> AgentDefinition:
        """Return one agent as the current session of ``thread`` uses it. Raises ``UnknownAgent`` as ``get`` does."""
        await self._read_agents_with(scope, agent_id)  # it may be new
        return (await self.in_session(scope, thread)).get(scope, agent_id)

    async def read_current(self, scope: Scope) -> RegisteredAgents:
        """Return the agents as they are stored now, for a caller that changes them."""
        return RegisteredAgents(self.shipped, await self.own.of(scope, since=timedelta(0), patience=None))

    async def get(self, scope: Scope, agent_id: str) -> AgentDefinition:
        """Return one agent. Raises ``UnknownAgent`` if there is none or the caller lacks a permission."""
        return (await self._read_agents_with(scope, agent_id)).get(scope, agent_id)

    async def for_new_thread(self, scope: Scope, agent_id: str | None) -> AgentDefinition:
        """Return the main agent of a new conversation. Raises ``UnknownAgent``."""
        return (await self._read_agents_with(scope, agent_id)).for_new_thread(scope, agent_id)

    async def _read_agents_with(self, scope: Scope, agent_id: str | None) -> RegisteredAgents:
        """Return agents that include the one with this id, if it exists.

        The tenant's own agents are read if no shipped agent has the id, and read again if a copy lacks it, because the
        agent may be new. The same reads are made for an agent that is hidden from the caller and for an unknown one, so
        that the time of the answer reveals nothing.
        """
        if agent_id is None or _is_visible(scope, self.shipped.get(agent_id)):
            return RegisteredAgents(self.shipped, {})
        agents = await self.own.of(scope)
        if not _is_visible(scope, agents.get(agent_id)):
            agents = await self.own.of(scope, since=RECHECK_AGE)
        return RegisteredAgents(self.shipped, agents)


def _is_visible(scope: Scope, agent: AgentDefinition | None) -> bool:
    return agent is not None and not list_missing_permissions(scope, agent)
