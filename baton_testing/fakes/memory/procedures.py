"""Procedures in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import ProcedureChanged, UnknownProcedure
from baton.domain.memory.procedure import (
    MAX_APPROVED,
    TENANT_PREFIX,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureScope,
    ProcedureStatus,
    check_is_proposal,
)
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_Owner = tuple[str, str]
"""Tenant, and agent or an empty text."""
_Name = tuple[_Owner, str]
"""Owner and procedure id."""


class FakeProcedures:
    """``ports.memory.procedures.ProcedureStore``."""

    def __init__(self) -> None:
        self._versions: defaultdict[_Name, dict[int, Procedure]] = defaultdict(dict)
        self._sources: dict[tuple[_Owner, str], tuple[str, int]] = {}
        self._uses: dict[tuple[_Name, int], list[int]] = {}
        self._counted: set[tuple[_Name, str]] = set()

    async def put(self, scope: Scope, procedure: Procedure, *, edited_from: int | None = None) -> Procedure:
        check_is_proposal(procedure)
        name = _make_name(scope, procedure.agent_id, procedure.id)
        if procedure.source is not None and (name[0], procedure.source.key) in self._sources:
            instance, number = self._sources[name[0], procedure.source.key]
            return self._versions[name[0], instance][number]
        versions = self._versions[name]
        newest = versions[max(versions)] if versions else None
        approved = self._find_approved(name)
        if edited_from is not None:
            if newest is None:
                raise UnknownProcedure
            if procedure.repeats(newest, edited_from):
                return newest
            if newest.version != edited_from:
                raise ProcedureChanged
        for same in (newest, approved if edited_from is None else None):
            if same is not None and same.draft == procedure.draft and same.status in _IN_USE:
                return same
        stored_procedure = replace(
            procedure,
            tenant_id=scope.tenant_id,
            created_at=from_millis(to_millis(procedure.created_at)),
            version=newest.version + 1 if newest is not None else 1,
        )
        if edited_from is not None and newest is not None and newest.status is ProcedureStatus.PENDING:
            self._retire(name, newest, _make_approval(stored_procedure))
        versions[stored_procedure.version] = stored_procedure
        if stored_procedure.source is not None:
            self._sources[name[0], stored_procedure.source.key] = (stored_procedure.id, stored_procedure.version)
        return stored_procedure

    async def get(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None = None
    ) -> Procedure | None:
        name = _make_name(scope, agent_id, procedure_id)
        versions = self._versions.get(name, {})
        procedure = versions.get(max(versions, default=0) if version is None else version)
        return self._with_uses(name, procedure) if procedure is not None else None

    async def get_approved(self, scope: Scope, agent_id: str, procedure_id: str) -> Procedure | None:
        name = _make_name(scope, agent_id, procedure_id)
        approved = self._find_approved(name)
        return self._with_uses(name, approved) if approved is not None else None

    async def versions(
        self, scope: Scope, agent_id: str, procedure_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[Procedure]:
        name = _make_name(scope, agent_id, procedure_id)
        versions = self._versions.get(name, {})
        procedures = [
            procedure for _, procedure in sorted(versions.items()) if before is None or procedure.version < before
        ]
        return [self._with_uses(name, procedure) for procedure in reversed(procedures)][:limit]

    async def decide(
        self,
        scope: Scope,
        agent_id: str,
        procedure_id: str,
        version: int,
        decision: ProcedureDecision,
        *,
        read_as: ProcedureStatus | None = None,
    ) -> Procedure:
        name = _make_name(scope, agent_id, procedure_id)
        return self._with_uses(name, self._decide(name, version, decision, read_as))

    async def approved(
        self, scope: Scope, agent_id: str, *, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Sequence[Procedure]:
        owner = (scope.tenant_id, "" if of is ProcedureScope.TENANT else agent_id)
        names = sorted(name for name in self._versions if name[0] == owner)
        procedures = [self._find_approved(name) for name in names]
        return [procedure for procedure in procedures if procedure is not None][:MAX_APPROVED]

    async def of_agents(
        self,
        scope: Scope,
        agent_ids: Collection[str],
        statuses: Collection[ProcedureStatus],
        *,
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Procedure], str | None]:
        before = decode_text(cursor) if cursor else None
        procedures = {
            _make_position(version): self._with_uses(name, version)
            for name, versions in self._versions.items()
            if name[0] in {(scope.tenant_id, owner) for owner in (*agent_ids, "")}
            for version in versions.values()
            if version.status in statuses and (before is None or _make_position(version) < before)
        }
        page = sorted(procedures, reverse=True)[:limit]
        return [procedures[position] for position in page], encode_text(page[-1]) if len(procedures) > limit else None

    async def forget_source(self, scope: Scope, agent_id: str, procedure_id: str, version: int) -> None:
        name = _make_name(scope, agent_id, procedure_id)
        procedure = self._versions.get(name, {}).get(version)
        if procedure is None or procedure.source is None:
            return
        self._sources.pop((name[0], procedure.source.key), None)
        if procedure.status is ProcedureStatus.PENDING:
            del self._versions[name][version]
        else:
            self._versions[name][version] = replace(procedure, source=None)

    async def record_use(
        self, scope: Scope, agent_id: str, procedure_id: str, version: int, *, run_id: str, went_well: bool
    ) -> bool:
        name = _make_name(scope, agent_id, procedure_id)
        if (name, run_id) in self._counted:
            return False
        self._counted.add((name, run_id))
        uses = self._uses.setdefault((name, version), [0, 0])
        uses[0] += 1
        uses[1] += went_well
        return True

    def add_shared(self, scope: Scope, version: Procedure) -> Procedure:
        """Save an approved version, and retire the version that it replaces."""
        name = _make_name(scope, version.agent_id, version.id)
        procedure = replace(version, version=max(self._versions[name], default=0) + 1)
        self._retire(name, self._find_approved(name), _make_approval(procedure))
        self._versions[name][procedure.version] = procedure
        return procedure

    def _find_approved(self, name: _Name) -> Procedure | None:
        versions = self._versions.get(name, {}).values()
        return next((version for version in versions if version.status is ProcedureStatus.APPROVED), None)

    def _decide(
        self, name: _Name, version: int, decision: ProcedureDecision, read_as: ProcedureStatus | None = None
    ) -> Procedure:
        versions = self._versions.get(name, {})
        procedure = versions.get(version)
        if procedure is None:
            raise UnknownProcedure
        if decision.is_taken(procedure):
            return procedure
        decided = decision.apply(procedure)
        if decided is None or read_as not in (None, procedure.status):
            raise ProcedureChanged
        if decision.action is ProcedureAction.APPROVE:
            self._retire(name, self._find_approved(name), decision)
        versions[version] = _to_the_millisecond(decided)
        return versions[version]

    def _retire(self, name: _Name, former: Procedure | None, by: ProcedureDecision) -> None:
        if former is not None:
            retired = ProcedureDecision(ProcedureAction.RETIRE, by.by, by.at).apply(former)
            assert retired is not None
            self._versions[name][former.version] = _to_the_millisecond(retired)

    def _with_uses(self, name: _Name, procedure: Procedure) -> Procedure:
        used, well = self._uses.get((name, procedure.version), (0, 0))
        return replace(procedure, used=used, went_well=well)


_IN_USE = (ProcedureStatus.PENDING, ProcedureStatus.APPROVED)


def _make_name(scope: Scope, agent_id: str, procedure_id: str) -> _Name:
    return (scope.tenant_id, "" if procedure_id.startswith(TENANT_PREFIX) else agent_id), procedure_id


def _make_approval(procedure: Procedure) -> ProcedureDecision:
    by, at = procedure.decided_by or procedure.created_by, procedure.decided_at or procedure.created_at
    return ProcedureDecision(ProcedureAction.APPROVE, by, at)


def _to_the_millisecond(procedure: Procedure) -> Procedure:
    assert procedure.decided_at is not None
    return replace(procedure, decided_at=from_millis(to_millis(procedure.decided_at)))


def _make_position(procedure: Procedure) -> str:
    at = to_millis(procedure.decided_at or procedure.created_at)
    return f"{at:015d}#{procedure.agent_id}#{procedure.id}#{procedure.version:06d}"
