"""Ports for the agents of the deployment, and for the agents that tenants have made."""

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

    def get_default_main(self) -> AgentDefinition:
        """Return the main agent of conversations whose first message names no agent."""


class AgentsChanged(Exception):
    """Another change of the tenant's agents came first."""


class AgentDefinitions(Protocol):
    """Versions of tenants' agents. Every method acts inside ``scope`` and raises ``StoreUnavailable``."""

    async def list(self, scope: Scope) -> AgentList:
        """Return the list of the tenant's agents, in one small read."""

    async def put(self, scope: Scope, agents: AgentList, version: AgentVersion | None = None) -> None:
        """Replace the list, and store ``version`` if there is one, in one step.

        Raises ``AgentsChanged`` if the stored list is not the one before ``agents``, by its revision.
        """

    async def read(self, scope: Scope, wanted: Sequence[tuple[str, int]]) -> Sequence[AgentVersion]:
        """Return the existing versions of at most 100 pairs of agent and number, in no order."""

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[AgentVersion]:
        """Return one agent's newest ``limit`` versions below ``before``, newest first, or all if there are fewer."""
