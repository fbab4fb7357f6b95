"""The agents of the deployment, and those that tenants have made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_version import AgentList, AgentVersion
from baton.domain.tenants.identity import Scope


class ShippedAgents(Protocol):
    """The agents that ship with the deployment, by id."""

    libraries: frozenset[str]
    """The names of the project's libraries of documents, which agents may list."""

    def get(self, agent_id: str) -> AgentDefinition | None:
        """Return the definition, or None if there is no such agent."""

    def all(self) -> list[AgentDefinition]:
        """Return every definition, sorted by id."""

    def default_main(self) -> AgentDefinition:
        """Return the main agent of conversations whose first message names none."""


class AgentsChanged(Exception):
    """Another change of the tenant's agents came first."""


class AgentDefinitions(Protocol):
    """Versions of tenants' agents. Every method acts inside ``scope`` and raises ``StoreUnavailable``."""

    async def list(self, scope: Scope) -> AgentList:
        """Return the newest versions of the tenant's agents, in one small read."""

    async def append(self, scope: Scope, version: AgentVersion, size: int, *, after: AgentList) -> AgentList:
        """Store a version and make it the newest of its agent in one step. Return the new list.

        ``size`` is that of the definition, as ``AgentEntry`` has it. ``after`` is the list that the change was made
        for. Raises ``AgentsChanged`` if the list has changed since.
        """

    async def read(self, scope: Scope, wanted: Sequence[tuple[str, int]]) -> Sequence[AgentVersion]:
        """Return versions by agent and number, in no order, without those that do not exist; at most 100."""

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[AgentVersion]:
        """Return the versions of one agent, the newest first, those below ``before`` only."""
