"""Skills on DynamoDB, in one partition for each tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import SKILL
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.skill import Skill, SkillStatus, saved

MAX_TRIES = 5
"""Attempts to save a version while others save versions too."""


class DynamoSkills:
    """``SkillStore`` on the conversation table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def put(self, scope: Scope, skill: Skill) -> Skill:
        newest = await self.get(scope, skill.agent_id, skill.slug)
        for _ in range(MAX_TRIES):
            if newest is not None and newest.draft == skill.draft:
                return newest
            next_one = saved(replace(skill, tenant_id=scope.tenant_id), newest.version + 1 if newest else 1)
            item: Item = {
                **keys.skill_version(scope, skill.agent_id, skill.slug, next_one.version),
                "body": SKILL.pack(next_one),
            }
            try:
                await self._table.put(item, condition="attribute_not_exists(PK)")
            except ConditionFailed as failure:
                # A version of another writer, or this one after a lost response.
                newest = _skill(scope, failure.item) if failure.item else newest
                continue
            return next_one
        raise StoreUnavailable

    async def get(self, scope: Scope, agent_id: str, slug: str, *, version: int | None = None) -> Skill | None:
        if version is None:
            item = await self._newest(scope, agent_id, slug)
        else:
            item = await self._table.get(keys.skill_version(scope, agent_id, slug, version))
        if item is None:
            return None
        skill = _skill(scope, item)
        active = await self._table.get(keys.active_skill(scope, agent_id, slug))
        is_active = active is not None and active["version"] == skill.version
        return replace(skill, status=SkillStatus.ACTIVE) if is_active else skill

    async def activate(self, scope: Scope, agent_id: str, slug: str, *, version: int) -> Skill | None:
        item = await self._table.get(keys.skill_version(scope, agent_id, slug, version))
        if item is None:
            return None
        # A copy, so that a turn reads all active skills of an agent in one query.
        key = keys.active_skill(scope, agent_id, slug)
        await self._table.put({**key, "version": version, "body": item["body"]})
        return replace(_skill(scope, item), status=SkillStatus.ACTIVE)

    async def deactivate(self, scope: Scope, agent_id: str, slug: str) -> None:
        await self._table.delete(keys.active_skill(scope, agent_id, slug))

    async def active(self, scope: Scope, agent_id: str) -> Sequence[Skill]:
        found: list[Skill] = []
        async for page in self._table.query(keys.skills(scope), prefix=keys.active_skills(agent_id)):
            found += [
                SKILL.unpack(
                    item["body"],
                    tenant_id=scope.tenant_id,
                    agent_id=agent_id,
                    version=item["version"],
                    status=SkillStatus.ACTIVE,
                )
                for item in page
            ]
        return found

    async def _newest(self, scope: Scope, agent_id: str, slug: str) -> Item | None:
        prefix = keys.skill_versions(agent_id, slug)
        async for page in self._table.query(keys.skills(scope), prefix=prefix, newest_first=True, limit=1):
            return page[0] if page else None
        return None


def _skill(scope: Scope, item: Item) -> Skill:
    _, agent_id, _, version = item["SK"].split("#")
    return SKILL.unpack(
        item["body"], tenant_id=scope.tenant_id, agent_id=agent_id, version=int(version), status=SkillStatus.DRAFT
    )
