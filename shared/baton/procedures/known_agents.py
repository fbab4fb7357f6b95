"""The agents, as far as learning needs to know them."""

from __future__ import annotations

from typing import Protocol

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.domain.thread import Thread


class KnownAgents(Protocol):
    """The agents of a tenant at one moment, whatever a caller's permissions."""

    def main(self, thread: Thread) -> AgentDefinition:
        """Return the thread's main agent, or the default one if it is there no more."""
        ...

    def describe(self, agent_id: str) -> AgentDefinition | None:
        """Return an agent; None if there is none."""
        ...


class AgentsOfTenants(Protocol):
    """Every tenant's agents."""

    async def of(self, scope: Scope) -> KnownAgents:
        """Return the agents of the scope's tenant. Raises ``StoreUnavailable``."""
        ...
