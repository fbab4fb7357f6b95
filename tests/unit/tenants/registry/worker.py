"""A worker's copies of tenants' agents."""

from __future__ import annotations

from typing import Any

from baton.composition.app import build
from baton.domain.agents.agent_version import AgentEntry, AgentList, AgentVersion
from baton.domain.tenants.identity import Scope
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.tenants.tenants import FakeAgentDefinitions
from tests.fakes.ports import FakePorts

ADA = Scope("acme", "ada")


TUTOR: dict[str, Any] = {"name": "Tutor", "description": "Helps.", "system_prompt": "Ask.", "main": True}


class Tenant:
    """A tenant whose agents change in the store, as another worker would change them."""

    def __init__(self, store: FakeAgentDefinitions, clock: FakeClock, scope: Scope = ADA) -> None:
        self._store, self._clock, self._scope = store, clock, scope

    async def put(self, agent_id: str, values: dict[str, Any] | None) -> None:
        listed: AgentList = self._store._lists.get(self._scope.tenant_id, AgentList())
        number = listed.entries[agent_id].number + 1 if agent_id in listed.entries else 1
        whole = {"id": agent_id, **values} if values is not None else None
        version = AgentVersion(agent_id, number, whole, "ada", self._clock.now())
        entry = listed.entries.get(agent_id, AgentEntry(0, 0))
        entry = entry.put(number, len(str(whole))) if whole else entry.delete(number)
        await self._store.put(self._scope, listed.with_entry(agent_id, entry), version)


class Worker:
    """One worker's copies of tenants' agents."""

    def __init__(self) -> None:
        self.store, self.clock = FakeAgentDefinitions(), FakeClock()
        ports = FakePorts(clock=self.clock, agent_definitions=self.store, light_model="small")
        self.own = build(ports).own_agents
        self.tenant = Tenant(self.store, self.clock)

    async def names(self, scope: Scope = ADA) -> dict[str, str]:
        return {agent_id: agent.name for agent_id, agent in (await self.own.of(scope)).items()}
