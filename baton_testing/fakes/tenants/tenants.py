"""Tenants' own agents and limits in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from baton.domain.agents.agent_version import AgentList, AgentVersion
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import TenantLimits
from baton.domain.times import from_millis, to_millis
from baton.ports.agents.agents import AgentsChanged


class FakeAgentDefinitions:
    """``ports.agents.agents.AgentDefinitions``. ``fails`` is raised by every read while it is set."""

    def __init__(self) -> None:
        self._lists: dict[str, AgentList] = {}
        self._versions: defaultdict[str, dict[tuple[str, int], AgentVersion]] = defaultdict(dict)
        self.fails: Exception | None = None
        self.lists_read = 0
        self.versions_read = 0

    async def list(self, scope: Scope) -> AgentList:
        self.lists_read += 1
        if self.fails is not None:
            raise self.fails
        return self._lists.get(scope.tenant_id, AgentList())

    async def put(self, scope: Scope, agents: AgentList, version: AgentVersion | None = None) -> None:
        if self._lists.get(scope.tenant_id, AgentList()).revision != agents.revision - 1:
            raise AgentsChanged
        self._lists[scope.tenant_id] = agents
        if version is not None:
            stored = replace(version, created_at=from_millis(to_millis(version.created_at)))
            self._versions[scope.tenant_id][version.agent_id, version.number] = stored

    async def read(self, scope: Scope, wanted: Sequence[tuple[str, int]]) -> Sequence[AgentVersion]:
        self.versions_read += len(wanted)
        if self.fails is not None:
            raise self.fails
        versions = self._versions[scope.tenant_id]
        return [versions[key] for key in wanted if key in versions]

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[AgentVersion]:
        versions = [version for version in self._versions[scope.tenant_id].values() if version.agent_id == agent_id]
        versions = [version for version in versions if before is None or version.number < before]
        return sorted(versions, key=lambda version: -version.number)[:limit]


class FakeTenantLimits:
    """``ports.tenants.tenants.TenantLimitStore``."""

    def __init__(self) -> None:
        self.limits: dict[str, TenantLimits] = {}
        self.reads = 0

    async def get(self, scope: Scope) -> TenantLimits:
        self.reads += 1
        return self.limits.get(scope.tenant_id, TenantLimits())

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        stored = self.limits.get(scope.tenant_id, TenantLimits())
        if stored.revision != limits.revision - 1:
            return stored == limits
        self.limits[scope.tenant_id] = limits
        return True
