"""Private skills on DynamoDB: one item each in the partition of their maker, which is never read for other users.

Only a skill that is offered is in an index of the tenant. Forgetting removes a user's partition, and so the skills.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import make_revision_condition, retry_on_conflict, save_revised
from baton.adapters.dynamodb.memory.procedure_writes import (
    ProcedureAddress,
    make_version_attributes,
    make_version_writes,
    procedure_from_item,
)
from baton.adapters.dynamodb.memory.procedures import DynamoProcedures
from baton.adapters.dynamodb.shards import read_page
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import TransactionFailed, Write
from baton.domain.errors import ProcedureChanged, UnknownProcedure
from baton.domain.memory.private_skill import IN_USE, SkillDecision, make_name_taken_error, make_shared_version
from baton.domain.memory.procedure import USER_PREFIX, Procedure, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton.ports.memory.procedures import SharedSkill

MAX_MADE_OF = 20
"""The maximum number of workflows in ``made_of``. Saving a skill of one of them again changes nothing."""


class DynamoPrivateSkills(TimedTableStore):
    """``PrivateSkills`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        super().__init__(table, clock)
        self._procedures = DynamoProcedures(table, clock)

    @retry_on_conflict  # with another writer, or with this one after a lost response
    async def save(self, scope: Scope, skill: Procedure, *, made_of: str) -> Procedure:
        key = agent_keys.private_skill(scope, skill.agent_id, skill.slug)
        workflow_digest = hashlib.sha256(made_of.encode()).hexdigest()
        item = await self._table.get(key)
        procedure = _to_skill(scope, item) if item is not None else None
        workflow_digests: list[str] = item["made_of"] if item is not None else []
        if procedure is not None and workflow_digest in workflow_digests:
            return procedure
        workflow_digests = [*workflow_digests, workflow_digest][-MAX_MADE_OF:]
        if procedure is not None and procedure.status in IN_USE and procedure.draft == skill.draft:
            saved = procedure
        else:
            version = item["version"] + 1 if item is not None else 1
            saved = replace(
                skill,
                tenant_id=scope.tenant_id,
                created_by=scope.user_id,
                version=version,
                scope=ProcedureScope.USER,
                status=ProcedureStatus.PRIVATE,
                source=None,
                decided_by=None,
                decided_at=None,
            )
        await self._write(scope, item, saved, workflow_digests)
        return saved

    async def get(self, scope: Scope, agent_id: str, skill_id: str) -> Procedure | None:
        item = await self._read_item(scope, agent_id, skill_id)
        return _to_skill(scope, item) if item is not None else None

    async def of_user(self, scope: Scope) -> Sequence[Procedure]:
        return await self._read(scope, agent_keys.PRIVATE_SKILL)

    async def in_use(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        procedures = await self._read(scope, agent_keys.private_skills(agent_id))
        return [procedure for procedure in procedures if procedure.status in IN_USE]

    async def offered(
        self, scope: Scope, agent_ids: Collection[str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        listings = [agent_keys.procedure_listing(scope, agent_id, ProcedureStatus.OFFERED) for agent_id in agent_ids]
        page, next_cursor = await read_page(self._table, listings, limit=limit, cursor=cursor)
        items = await self._table.get_listed(page)
        # The index may be a moment behind the items.
        offered = [item for item in items if "listed_at" in item]
        offered.sort(key=lambda item: str(item["listed_at"]), reverse=True)
        return [procedure for item in offered if (procedure := _to_skill(scope, item)) is not None], next_cursor

    @retry_on_conflict
    async def change(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision
    ) -> Procedure:
        item, procedure = await self._read_version(scope, agent_id, skill_id, version)
        if decision.is_taken(procedure):
            return procedure
        decided = decision.apply(procedure)
        if decided is None:
            raise ProcedureChanged
        await self._write(scope, item, decided, item["made_of"])
        return decided

    @retry_on_conflict
    async def share(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision, *, replaces: int | None
    ) -> SharedSkill:
        address = ProcedureAddress(scope, agent_id, skill_id.removeprefix(USER_PREFIX))
        item, procedure = await self._read_version(scope, agent_id, skill_id, version)
        if decision.is_taken(procedure):
            shared_before = await self._procedures.get(scope, agent_id, address.slug, version=item["shared_as"])
            if shared_before is None:
                raise UnknownProcedure
            return SharedSkill(shared_before, replaces)
        decided = decision.apply(procedure)
        if decided is None:
            raise ProcedureChanged
        newest = await self._procedures.get(scope, agent_id, address.slug)
        approved = await self._procedures.get_approved(scope, agent_id, address.slug)
        if replaces != (approved.version if approved is not None else None):
            if await self._read_item(scope, agent_id, skill_id) != item:
                raise TransactionFailed("somebody else has just shared it")  # so that it is read again
            raise make_name_taken_error(approved)
        number = newest.version + 1 if newest is not None else 1
        shared = replace(make_shared_version(procedure, decision), version=number)
        noted = {**self._make_item(scope, item, decided, item["made_of"]), "shared_as": shared.version}
        await self._table.transact(
            *make_version_writes(address, shared, approved, None),
            Write.put(noted, **make_revision_condition(item["revision"])),
        )
        return SharedSkill(shared, replaces)

    @retry_on_conflict
    async def remove(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> Procedure:
        item, procedure = await self._read_version(scope, agent_id, skill_id, version)
        # The number stays: an approver who has read a version must never share another one by its number.
        remainder = {name: item[name] for name in ("PK", "SK", "version")}
        remainder |= {"made_of": [], "revision": item["revision"] + 1, "changed_at": to_millis(self._clock.now())}
        if not await save_revised(self._table, remainder):
            raise TransactionFailed("somebody else has just changed it")  # so that it is read again
        return replace(
            procedure, status=ProcedureStatus.RETIRED, decided_by=scope.user_id, decided_at=self._clock.now()
        )

    async def _read_item(self, scope: Scope, agent_id: str, skill_id: str) -> Item | None:
        slug = skill_id.removeprefix(USER_PREFIX)
        if slug == skill_id:
            return None
        return await self._table.get(agent_keys.private_skill(scope, agent_id, slug))

    async def _read_version(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> tuple[Item, Procedure]:
        """Return a skill and its item.

        Raises ``ProcedureChanged`` if the skill has a later version, and ``UnknownProcedure`` if it does not exist.
        """
        item = await self._read_item(scope, agent_id, skill_id)
        procedure = _to_skill(scope, item) if item is not None else None
        if item is None or procedure is None or procedure.version < version:
            raise UnknownProcedure
        if procedure.version != version:
            raise ProcedureChanged
        return item, procedure

    async def _read(self, scope: Scope, prefix: str) -> list[Procedure]:
        items = await self._table.read_all(keys.user_listing(scope), prefix=prefix)
        return [procedure for item in items if (procedure := _to_skill(scope, item)) is not None]

    async def _write(self, scope: Scope, former: Item | None, skill: Procedure, made_of: list[str]) -> None:
        """Store a skill in place of the item ``former``. Raises ``ConditionFailed`` if that item has changed."""
        item = self._make_item(scope, former, skill, made_of)
        await self._table.put(item, **make_revision_condition(item["revision"] - 1))

    def _make_item(self, scope: Scope, former: Item | None, skill: Procedure, made_of: list[str]) -> Item:
        item: Item = {
            **agent_keys.private_skill(scope, skill.agent_id, skill.slug),
            **make_version_attributes(skill),
            "made_of": made_of,
            "revision": former["revision"] + 1 if former is not None else 1,
            # Erasure decides by this time what to keep for a user.
            "changed_at": to_millis(self._clock.now()),
        }
        if skill.status is ProcedureStatus.OFFERED:
            # Unique among all users' skills, because the lists of several agents are merged by this key.
            user = hashlib.sha256(scope.user_id.encode()).hexdigest()[:16]
            at = to_millis(skill.decided_at or skill.created_at)
            item["listing"] = agent_keys.procedure_listing(scope, skill.agent_id, skill.status)
            item["listed_at"] = f"{at:015d}#{skill.agent_id}#{skill.slug}#{skill.version:06d}#{user}"
        return item


def _to_skill(scope: Scope, item: Item) -> Procedure | None:
    """Return the skill of an item; None for one that was removed."""
    return procedure_from_item(scope, item) if "body" in item else None
