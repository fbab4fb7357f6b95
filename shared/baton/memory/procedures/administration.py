"""People's actions on procedures: they read, write and decide on them, and try which one a message matches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import InvalidRequest, ProcedureChanged, ProcedureVersionMismatch, UnknownProcedure
from baton.domain.memory.found_item import NO_SOURCE
from baton.domain.memory.procedure import (
    REVIEWED,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureDraft,
    ProcedureScope,
    ProcedureStatus,
)
from baton.domain.tenants.identity import Permission, Scope, derive_procedure_record_id
from baton.memory.agent_memory import AgentMemory
from baton.memory.procedures.approved_procedures import ApprovedProcedures, check_room
from baton.memory.recalled import MemorySearch, RecalledBlock
from baton.ports.clock import Clock
from baton.ports.memory.procedures import ProcedureStore
from baton.ports.tenants.audit import AuditLog, Once

DEADLINE = timedelta(seconds=5)
"""The longest time of a trial of a message. It is long because a person waits, and not a turn."""


_AUDITED = {
    ProcedureAction.APPROVE: "procedure.approve",
    ProcedureAction.REJECT: "procedure.reject",
    ProcedureAction.RETIRE: "procedure.retire",
}


@dataclass(frozen=True, slots=True)
class ProcedureVersions:
    """A version of a procedure, with a page of all versions."""

    shown: Procedure
    versions: Sequence[Procedure]
    before: int | None
    """The number of the last version of the page, if there are more; otherwise None."""


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """The version that a caller has read. A change or decision is refused if it has changed since."""

    version: int
    status: ProcedureStatus | None = None
    """The status that the caller has read; None if any status is accepted."""


@dataclass(frozen=True, slots=True)
class ProcedureAdministration:
    """Procedures for people. Users who may see the agent read approved versions; deciders read all."""

    store: ProcedureStore
    approved: ApprovedProcedures
    memory: AgentMemory
    audit: AuditLog
    clock: Clock

    async def read_page(
        self, scope: Scope, agent_id: str, statuses: Collection[ProcedureStatus], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of an agent's versions in these statuses, newest first, and the cursor of the next page.

        Raises ``Forbidden`` for other statuses than ``approved`` without ``procedure:approve``.
        """
        if set(statuses) != {ProcedureStatus.APPROVED}:
            scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
        procedures, after = await self.store.of_agents(scope, [agent_id], statuses, limit=limit, cursor=cursor)
        return [_hide_source(scope, procedure) for procedure in procedures], after

    async def of_all_agents(
        self,
        scope: Scope,
        agents: Sequence[AgentDefinition],
        status: ProcedureStatus,
        *,
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of the versions in a status, of these agents and of the tenant, newest first.

        It takes one query for each agent, whatever the number of procedures. Raises ``Forbidden``.
        """
        scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
        owners = [agent.id for agent in agents]
        return await self.store.of_agents(scope, owners, [status], limit=limit, cursor=cursor)

    def list_readable_statuses(self, scope: Scope) -> Sequence[ProcedureStatus]:
        """Return the statuses of the versions that the caller may read."""
        return REVIEWED if scope.has(Permission.PROCEDURE_APPROVE) else (ProcedureStatus.APPROVED,)

    async def read(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None, limit: int, before: int | None
    ) -> ProcedureVersions:
        """Return a version (None: the newest), with a page of all. Callers who may not decide get the approved one.

        Raises ``UnknownProcedure``.
        """
        if not scope.has(Permission.PROCEDURE_APPROVE):
            approved = await self.store.get_approved(scope, agent_id, procedure_id)
            if approved is None or version not in (None, approved.version):
                raise UnknownProcedure
            procedure = _hide_source(scope, approved)
            return ProcedureVersions(procedure, [procedure], None)
        stored_version = await self._get(scope, agent_id, procedure_id, version)
        versions = await self.store.versions(scope, agent_id, procedure_id, limit=limit + 1, before=before)
        more = versions[limit - 1].version if len(versions) > limit else None
        return ProcedureVersions(stored_version, versions[:limit], more)

    async def create(
        self, scope: Scope, agent_id: str, draft: ProcedureDraft, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Procedure:
        """Save a procedure, or a new version of the one with its name, as pending. Raises ``Forbidden``."""
        if not scope.has(Permission.SKILL_CREATE):
            scope.require(Permission.PROCEDURE_APPROVE, "procedure.create")
        saved = await self.store.put(scope, self._make_pending(scope, agent_id, draft, of))
        await self._record(scope, agent_id, saved, "procedure.create", "pending")
        return _hide_source(scope, saved)  # an equal captured version may exist, whose source is hidden

    async def change(
        self, scope: Scope, agent_id: str, procedure_id: str, draft: ProcedureDraft, *, read: ReadVersion
    ) -> Procedure:
        """Save changed content as a new pending version. ``read`` is the changed version, which must be the newest.

        If that version is pending, it is retired. Raises ``Forbidden``, ``UnknownProcedure``, ``ProcedureChanged``,
        ``ProcedureVersionMismatch``, and ``InvalidRequest`` for a name that makes another id.
        """
        scope.require(Permission.PROCEDURE_APPROVE, "procedure.edit")
        procedure = await self._get(scope, agent_id, procedure_id)
        if draft.slug != procedure.slug:
            raise InvalidRequest(
                f"name: it must keep the id {procedure.id}; create another procedure for another name."
            )
        pending = self._make_pending(scope, procedure.agent_id, draft, procedure.scope)
        if read.status is not None and not pending.repeats(procedure, read.version):
            _check_read(procedure, read)
        saved = await self.store.put(scope, pending, edited_from=read.version)
        await self._record(scope, agent_id, saved, "procedure.edit", "pending")
        return saved

    async def decide(
        self,
        scope: Scope,
        agent_id: str,
        procedure_id: str,
        action: ProcedureAction,
        *,
        read: ReadVersion | None,
        reason: str | None = None,
    ) -> Procedure:
        """Approve, reject or retire the version ``read``, or the newest (None). A repetition changes nothing.

        Raises ``Forbidden``, ``UnknownProcedure``, ``ProcedureChanged``, ``ProcedureVersionMismatch``,
        ``TooManyProcedures``, and ``InvalidRequest`` to approve one of several pending versions without its number.
        """
        audited = _AUDITED[action]
        scope.require(Permission.PROCEDURE_APPROVE, audited)
        version = read.version if read is not None else await self._find_newest(scope, agent_id, procedure_id, action)
        replaced = None
        if action is ProcedureAction.APPROVE:
            newest = await self._get(scope, agent_id, procedure_id)
            await check_room(self.store, scope, agent_id, procedure_id, newest.scope)
            replaced = await self.store.get_approved(scope, agent_id, procedure_id)
        decision = ProcedureDecision(action, scope.user_id, self.clock.now(), reason)
        try:
            decided = await self.store.decide(
                scope, agent_id, procedure_id, version, decision, read_as=read.status if read is not None else None
            )
        except ProcedureChanged:
            procedure = await self.store.get(scope, agent_id, procedure_id, version=version)
            if procedure is not None and read is not None and read.status is not None:
                _check_read(procedure, read)
            if procedure is None or procedure.decided_by is None:
                raise
            raise ProcedureChanged(
                f"Version {version} was {procedure.status.value} by {procedure.decided_by}. Read the procedure again."
            ) from None
        more: dict[str, Any] = {"reason": decided.reason} if decided.reason is not None else {}
        if replaced is not None and replaced.version != version:
            more["replaced"] = replaced.version
        await self._record(scope, agent_id, decided, audited, decided.status.value, more)
        return decided

    async def _find_newest(self, scope: Scope, agent_id: str, procedure_id: str, action: ProcedureAction) -> int:
        """Return the number of the newest version, for a caller who has not named a version.

        Raises ``InvalidRequest`` for an approval if the previous version is pending too, because the caller may have
        read that version.
        """
        newest = await self._get(scope, agent_id, procedure_id)
        if action is ProcedureAction.APPROVE and newest.version > 1:
            before = await self.store.get(scope, agent_id, procedure_id, version=newest.version - 1)
            if before is not None and before.status is ProcedureStatus.PENDING:
                raise InvalidRequest("version: several versions are pending. Name the version that you have read.")
        return newest.version

    async def match(self, scope: Scope, agent: AgentDefinition, query: str) -> RecalledBlock:
        """Return the block with the procedure that a turn of the agent would follow for a message.

        Only deciders get the sources of its items.
        """
        procedures = partial(self.approved.of, scope, agent.id, since=self.clock.now())
        search = MemorySearch(scope, query, procedures, with_knowledge=False, with_episodes=False)
        block = (await self.memory.make_prompt(agent, search)).recalled.procedure
        if scope.has(Permission.PROCEDURE_APPROVE):
            return block
        return replace(block, items=tuple(replace(item, source=NO_SOURCE) for item in block.items))

    async def list_usable(self, scope: Scope, agents: Sequence[AgentDefinition]) -> list[Procedure]:
        """Return the approved procedures of these agents, then the tenant's; with sources only for deciders."""
        procedures: list[Procedure] = []
        for agent in agents:
            procedures += await self.store.approved(scope, agent.id)
        procedures += await self.store.approved(scope, "", of=ProcedureScope.TENANT)
        return [_hide_source(scope, procedure) for procedure in procedures]

    def _make_pending(self, scope: Scope, agent_id: str, draft: ProcedureDraft, of: ProcedureScope) -> Procedure:
        return Procedure(draft, scope.tenant_id, agent_id, scope.user_id, self.clock.now(), scope=of)

    async def _get(self, scope: Scope, agent_id: str, procedure_id: str, version: int | None = None) -> Procedure:
        """Return a version (None: the newest). Raises ``UnknownProcedure``."""
        procedure = await self.store.get(scope, agent_id, procedure_id, version=version)
        if procedure is None:
            raise UnknownProcedure
        return procedure

    async def _record(
        self,
        scope: Scope,
        agent_id: str,
        procedure: Procedure,
        action: str,
        outcome: str,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        owner = "" if procedure.scope is ProcedureScope.TENANT else agent_id
        about = f"{owner}\0{procedure.id}\0{procedure.version}\0{scope.user_id}"
        detail = {"procedure": procedure.id, "version": procedure.version, "agentId": agent_id, **more}
        await self.audit.record(
            scope,
            action,
            thread_id=None,
            outcome=outcome,
            detail=detail,
            once=Once(derive_procedure_record_id(scope, action, about), procedure.decided_at or procedure.created_at),
        )


def _check_read(procedure: Procedure, read: ReadVersion) -> None:
    """Raise ``ProcedureVersionMismatch`` if the version or its status has changed since it was read."""
    if (procedure.version, procedure.status) == (read.version, read.status):
        return
    if procedure.version != read.version:
        change = f"Version {procedure.version} was made by {procedure.created_by}"
    else:
        person = procedure.decided_by or procedure.created_by
        change = f"Version {procedure.version} was {procedure.status.value} by {person}"
    raise ProcedureVersionMismatch(f"{change} since you read it: read it again and repeat your change.")


def _hide_source(scope: Scope, procedure: Procedure) -> Procedure:
    """Return the procedure; for callers who may not decide, without its source, which is somebody's conversation."""
    if scope.has(Permission.PROCEDURE_APPROVE):
        return procedure
    return replace(procedure, source=None)
