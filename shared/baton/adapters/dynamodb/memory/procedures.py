"""Procedures on DynamoDB: a partition for each agent, and one for the procedures that all agents of a tenant use.

Each version is an item; turns read copies of the approved versions in one query. A transaction changes both, so that
no turn ever finds a version that is not approved.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.conditional_writes import retry_on_conflict
from baton.adapters.dynamodb.memory.procedure_writes import (
    ProcedureAddress,
    find_owner,
    make_decision_writes,
    make_forgetting_writes,
    make_use_writes,
    make_version_writes,
    procedure_from_item,
)
from baton.adapters.dynamodb.shards import read_page
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.domain.errors import ProcedureChanged, UnknownProcedure
from baton.domain.memory.procedure import (
    MAX_APPROVED,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureScope,
    ProcedureStatus,
    check_is_proposal,
)
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis

USE_KEPT = timedelta(days=30)
"""The time for which a run's use is remembered, so that it is counted once. Queues repeat records for days at most."""

_IN_USE = (ProcedureStatus.PENDING, ProcedureStatus.APPROVED)


class DynamoProcedures(TimedTableStore):
    """``ProcedureStore`` on the conversation table."""

    @retry_on_conflict  # with another writer, or with this one after a lost response
    async def put(self, scope: Scope, procedure: Procedure, *, edited_from: int | None = None) -> Procedure:
        check_is_proposal(procedure)
        address = ProcedureAddress.of(scope, procedure.agent_id, procedure.id)
        if procedure.source is not None:
            note = await self._table.get(agent_keys.procedure_source(scope, address.owner, procedure.source.key))
            same_source = (
                await self._read_version(replace(address, slug=note["slug"]), note["version"]) if note else None
            )
            if same_source is not None:
                return same_source
        newest, approved = await self._read_newest(address), await self._read_approved(address)
        if edited_from is not None:
            if newest is not None and procedure.repeats(newest, edited_from):
                return newest
            if newest is None:
                raise UnknownProcedure
            if newest.version != edited_from:
                raise ProcedureChanged
        for other in (newest, approved if edited_from is None else None):
            if other is not None and other.status in _IN_USE and other.draft == procedure.draft:
                return other
        number = newest.version + 1 if newest is not None else 1
        new_version = replace(procedure, tenant_id=scope.tenant_id, version=number)
        await self._table.transact(*make_version_writes(address, new_version, None, newest if edited_from else None))
        return new_version

    async def get(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None = None
    ) -> Procedure | None:
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        procedure = await self._read_newest(address) if version is None else await self._read_version(address, version)
        return (await self._add_use_counts(scope, [procedure]))[0] if procedure is not None else None

    async def get_approved(self, scope: Scope, agent_id: str, procedure_id: str) -> Procedure | None:
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        procedure = await self._read_approved(address)
        return (await self._add_use_counts(scope, [procedure]))[0] if procedure is not None else None

    async def versions(
        self, scope: Scope, agent_id: str, procedure_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[Procedure]:
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        prefix = agent_keys.procedure_versions(address.slug)
        last = f"{prefix}{before - 1:06d}" if before is not None else f"{prefix}~"
        items = await self._table.read_all(
            address.partition, first=prefix, last=last, newest_first=True, limit=limit, enough=limit
        )
        return await self._add_use_counts(scope, [procedure_from_item(scope, item) for item in items[:limit]])

    @retry_on_conflict
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
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        procedure = await self._read_version(address, version)
        if procedure is None:
            raise UnknownProcedure
        if not decision.is_taken(procedure):
            decided = decision.apply(procedure)
            if decided is None or read_as not in (None, procedure.status):
                raise ProcedureChanged
            approved = await self._read_approved(address) if decision.action is ProcedureAction.APPROVE else None
            await self._table.transact(*make_decision_writes(address, procedure, decided, approved))
            procedure = decided
        return (await self._add_use_counts(scope, [procedure]))[0]

    async def approved(
        self, scope: Scope, agent_id: str, *, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Sequence[Procedure]:
        partition = agent_keys.procedures(scope, "" if of is ProcedureScope.TENANT else agent_id)
        items = await self._table.read_all(partition, prefix=agent_keys.APPROVED, enough=MAX_APPROVED)
        return [procedure_from_item(scope, item) for item in items[:MAX_APPROVED]]

    async def of_agents(
        self,
        scope: Scope,
        agent_ids: Collection[str],
        statuses: Collection[ProcedureStatus],
        *,
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Procedure], str | None]:
        listings = [
            agent_keys.procedure_listing(scope, owner, status) for owner in (*agent_ids, "") for status in statuses
        ]
        page, next_cursor = await read_page(self._table, listings, limit=limit, cursor=cursor)
        items = await self._table.get_listed(page)
        items.sort(key=lambda item: str(item["listed_at"]), reverse=True)
        # The index may be a moment behind the items.
        procedures = [
            procedure
            for procedure in (procedure_from_item(scope, item) for item in items)
            if procedure.status in statuses
        ]
        return await self._add_use_counts(scope, procedures), next_cursor

    @retry_on_conflict
    async def forget_source(self, scope: Scope, agent_id: str, procedure_id: str, version: int) -> None:
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        item = await self._table.get(agent_keys.procedure_version(scope, address.owner, address.slug, version))
        procedure = procedure_from_item(scope, item) if item is not None else None
        if item is None or procedure is None or procedure.source is None:
            return
        await self._table.transact(
            *make_forgetting_writes(address, item, procedure, await self._read_approved(address))
        )

    @retry_on_conflict
    async def record_use(
        self, scope: Scope, agent_id: str, procedure_id: str, version: int, *, run_id: str, went_well: bool
    ) -> bool:
        address = ProcedureAddress.of(scope, agent_id, procedure_id)
        note = agent_keys.procedure_use(scope, address.owner, address.slug, run_id)
        if await self._table.get(note) is not None:
            return False
        expires_at = to_millis(self._clock.now() + USE_KEPT) // 1000
        use = make_use_writes(address, version, note, expires_at=expires_at, went_well=went_well)
        await self._table.transact(*use)
        return True

    async def _read_version(self, address: ProcedureAddress, version: int) -> Procedure | None:
        key = agent_keys.procedure_version(address.scope, address.owner, address.slug, version)
        return await self._table.read(key, partial(procedure_from_item, address.scope))

    async def _read_newest(self, address: ProcedureAddress) -> Procedure | None:
        """Return the newest version, whatever its status; None if there is no version."""
        prefix = agent_keys.procedure_versions(address.slug)
        items = await self._table.read_all(address.partition, prefix=prefix, newest_first=True, limit=1, enough=1)
        return procedure_from_item(address.scope, items[0]) if items else None

    async def _read_approved(self, address: ProcedureAddress) -> Procedure | None:
        key = agent_keys.approved_procedure(address.scope, address.owner, address.slug)
        return await self._table.read(key, partial(procedure_from_item, address.scope))

    async def _add_use_counts(self, scope: Scope, procedures: Sequence[Procedure]) -> list[Procedure]:
        """Return the versions with the numbers of their uses."""
        use_keys = [
            agent_keys.procedure_uses(
                scope, find_owner(procedure.agent_id, procedure.id), procedure.slug, procedure.version
            )
            for procedure in procedures
        ]
        items = await self._table.get_many(use_keys)
        counts = {(item["PK"], item["SK"]): (item["used"], item["went_well"]) for item in items}
        return [
            replace(procedure, used=used, went_well=well)
            for procedure, key in zip(procedures, use_keys, strict=True)
            for used, well in [counts.get((key["PK"], key["SK"]), (0, 0))]
        ]
