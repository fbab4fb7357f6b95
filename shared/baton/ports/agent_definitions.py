"""The agents that tenants have made themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.agent_version import AgentList, AgentVersion
from baton.domain.identity import Scope


class AgentsChanged(Exception):
    """Another change of the tenant's agents came first."""


class AgentDefinitions(Protocol):
    """Versions of tenants' agents. Every method acts inside ``scope`` and raises ``StoreUnavailable``."""

    async def list(self, scope: Scope) -> AgentList:
        """Return the newest versions of the tenant's agents, in one small read."""
        ...

    async def append(self, scope: Scope, version: AgentVersion, size: int, *, after: AgentList) -> AgentList:
        """Store a version and make it the newest of its agent, both or neither. Return the new list.

        ``size`` is that of the definition, as ``AgentEntry`` has it. ``after`` is the list that the change was made
        for. Raises ``AgentsChanged`` if the list has changed since.
        """
        ...

    async def read(self, scope: Scope, wanted: Sequence[tuple[str, int]]) -> Sequence[AgentVersion]:
        """Return versions by agent and number, in no order, without those that do not exist; at most 100."""
        ...

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[AgentVersion]:
        """Return the versions of one agent, the newest first, those below ``before`` only."""
        ...
