"""Skills in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from baton.domain.identity import Scope
from baton.domain.skill import Skill, SkillStatus, saved
from baton.domain.times import from_millis, to_millis

_Name = tuple[str, str, str]
"""Tenant, agent and slug."""


class FakeSkills:
    """``ports.skills.SkillStore``."""

    def __init__(self) -> None:
        self._versions: defaultdict[_Name, list[Skill]] = defaultdict(list)
        self._active: dict[_Name, int] = {}

    async def put(self, scope: Scope, skill: Skill) -> Skill:
        versions = self._versions[scope.tenant_id, skill.agent_id, skill.slug]
        if versions and versions[-1].draft == skill.draft:
            return self._shown(scope, versions[-1])
        kept = replace(skill, tenant_id=scope.tenant_id, created_at=from_millis(to_millis(skill.created_at)))
        versions.append(saved(kept, len(versions) + 1))
        return versions[-1]

    async def get(self, scope: Scope, agent_id: str, slug: str, *, version: int | None = None) -> Skill | None:
        versions = self._versions[scope.tenant_id, agent_id, slug]
        number = len(versions) if version is None else version
        return self._shown(scope, versions[number - 1]) if 1 <= number <= len(versions) else None

    async def activate(self, scope: Scope, agent_id: str, slug: str, *, version: int) -> Skill | None:
        if await self.get(scope, agent_id, slug, version=version) is None:
            return None
        self._active[scope.tenant_id, agent_id, slug] = version
        return await self.get(scope, agent_id, slug, version=version)

    async def deactivate(self, scope: Scope, agent_id: str, slug: str) -> None:
        self._active.pop((scope.tenant_id, agent_id, slug), None)

    async def active(self, scope: Scope, agent_id: str) -> Sequence[Skill]:
        return [
            self._shown(scope, self._versions[tenant, agent, slug][version - 1])
            for (tenant, agent, slug), version in sorted(self._active.items())
            if (tenant, agent) == (scope.tenant_id, agent_id)
        ]

    def _shown(self, scope: Scope, skill: Skill) -> Skill:
        is_active = self._active.get((scope.tenant_id, skill.agent_id, skill.slug)) == skill.version
        return replace(skill, status=SkillStatus.ACTIVE if is_active else SkillStatus.DRAFT)
