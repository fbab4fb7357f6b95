"""Private skills in memory."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import ProcedureChanged, UnknownProcedure
from baton.domain.memory.private_skill import IN_USE, SkillDecision, make_name_taken_error, make_shared_version
from baton.domain.memory.procedure import USER_PREFIX, Procedure, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.memory.procedures import SharedSkill
from baton_testing.fakes.memory.procedures import FakeProcedures

_Key = tuple[str, str, str, str]
"""Tenant, user, agent, id."""


@dataclass(slots=True)
class _Row:
    """A skill, or the record of a removed one."""

    version: int = 0
    skill: Procedure | None = None
    made_of: set[str] = field(default_factory=set)
    shared_as: int | None = None


class FakePrivateSkills:
    """``ports.memory.procedures.PrivateSkills``."""

    def __init__(self, procedures: FakeProcedures, clock: Clock) -> None:
        self._procedures = procedures
        self._clock = clock
        self._rows: defaultdict[_Key, _Row] = defaultdict(_Row)

    async def save(self, scope: Scope, skill: Procedure, *, made_of: str) -> Procedure:
        row = self._rows[_make_key(scope, skill.agent_id, f"{USER_PREFIX}{skill.slug}")]
        procedure = row.skill
        if procedure is not None and made_of in row.made_of:
            return procedure
        row.made_of.add(made_of)
        if procedure is not None and procedure.status in IN_USE and procedure.draft == skill.draft:
            return procedure
        row.version += 1
        row.skill = replace(
            skill,
            tenant_id=scope.tenant_id,
            created_by=scope.user_id,
            created_at=from_millis(to_millis(skill.created_at)),
            version=row.version,
            scope=ProcedureScope.USER,
            status=ProcedureStatus.PRIVATE,
            source=None,
            decided_by=None,
            decided_at=None,
        )
        return row.skill

    async def get(self, scope: Scope, agent_id: str, skill_id: str) -> Procedure | None:
        row = self._rows.get(_make_key(scope, agent_id, skill_id))
        return row.skill if row is not None else None

    async def of_user(self, scope: Scope) -> Sequence[Procedure]:
        own = sorted(key for key in self._rows if key[:2] == (scope.tenant_id, scope.user_id))
        return [skill for key in own if (skill := self._rows[key].skill) is not None]

    async def in_use(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        return [
            procedure
            for procedure in await self.of_user(scope)
            if procedure.agent_id == agent_id and procedure.status in IN_USE
        ]

    async def offered(
        self, scope: Scope, agent_ids: Collection[str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        before = decode_text(cursor) if cursor else None
        offered = [
            row.skill
            for key, row in self._rows.items()
            if key[0] == scope.tenant_id and key[2] in agent_ids and row.skill is not None
        ]
        procedures = {
            _make_position(procedure): procedure for procedure in offered if procedure.status is ProcedureStatus.OFFERED
        }
        listed = sorted((at for at in procedures if before is None or at < before), reverse=True)
        page = listed[:limit]
        return [procedures[at] for at in page], encode_text(page[-1]) if len(listed) > limit else None

    async def change(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision
    ) -> Procedure:
        row, procedure = self._find_version(scope, agent_id, skill_id, version)
        if decision.is_taken(procedure):
            return procedure
        row.skill = _decide(procedure, decision)
        return row.skill

    async def share(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision, *, replaces: int | None
    ) -> SharedSkill:
        row, procedure = self._find_version(scope, agent_id, skill_id, version)
        if decision.is_taken(procedure):
            earlier = await self._procedures.get(scope, agent_id, procedure.slug, version=row.shared_as)
            if earlier is None:
                raise UnknownProcedure
            return SharedSkill(earlier, replaces)
        decided = _decide(procedure, decision)
        approved = await self._procedures.get_approved(scope, agent_id, procedure.slug)
        if replaces != (approved.version if approved is not None else None):
            raise make_name_taken_error(approved)
        shared = self._procedures.add_shared(scope, make_shared_version(procedure, decision))
        row.skill, row.shared_as = decided, shared.version
        return SharedSkill(shared, replaces)

    async def remove(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> Procedure:
        row, procedure = self._find_version(scope, agent_id, skill_id, version)
        row.skill = None
        row.made_of.clear()
        at = from_millis(to_millis(self._clock.now()))
        return replace(procedure, status=ProcedureStatus.RETIRED, decided_by=scope.user_id, decided_at=at)

    def _find_version(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> tuple[_Row, Procedure]:
        row = self._rows.get(_make_key(scope, agent_id, skill_id))
        if row is None or row.skill is None or row.version < version:
            raise UnknownProcedure
        if row.version != version:
            raise ProcedureChanged
        return row, row.skill


def _make_key(scope: Scope, agent_id: str, skill_id: str) -> _Key:
    return scope.tenant_id, scope.user_id, agent_id, skill_id


def _decide(skill: Procedure, decision: SkillDecision) -> Procedure:
    decided = decision.apply(skill)
    if decided is None:
        raise ProcedureChanged
    return replace(decided, decided_at=from_millis(to_millis(decision.at)))


def _make_position(skill: Procedure) -> str:
    at = to_millis(skill.decided_at or skill.created_at)
    user = hashlib.sha256(skill.created_by.encode()).hexdigest()[:16]
    return f"{at:015d}#{skill.agent_id}#{skill.slug}#{skill.version:06d}#{user}"
