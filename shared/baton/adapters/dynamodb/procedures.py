"""Procedures on DynamoDB, in one partition for each agent, and one for what all agents of a tenant use.

Each version is an item; turns read copies of the approved versions in one query. A transaction changes both, so that
no turn ever finds a version that is not approved.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import PROCEDURE
from baton.adapters.dynamodb.shards import newest_first
from baton.adapters.dynamodb.table import Table, TransactionFailed, Write
from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import ProcedureChanged, StoreUnavailable, UnknownProcedure
from baton.domain.identity import Scope
from baton.domain.procedure import (
    MAX_APPROVED,
    TENANT_PREFIX,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureScope,
    ProcedureStatus,
)
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock

MAX_TRIES = 8
"""Attempts to write while others change the same procedure."""
USE_KEPT = timedelta(days=30)
"""How long a run's use is remembered, so that it is counted once. A queue repeats for days at most."""
_IS_NEW = "attribute_not_exists(PK)"
_IN_ANY_CASE = "attribute_not_exists(PK) OR attribute_exists(PK)"


class DynamoProcedures:
    """``ProcedureStore`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def put(self, scope: Scope, procedure: Procedure, *, edited_from: int | None = None) -> Procedure:
        place = _Place.of(scope, procedure.agent_id, procedure.id)
        for _ in range(MAX_TRIES):
            made = await self._made_of(place, procedure)
            if made is not None:
                return made
            newest, approved = await self._newest(place), await self._approved(place)
            if edited_from is not None:
                if newest is not None and procedure.repeats(newest, edited_from):
                    return newest
                _check_is_newest(newest, edited_from)
            same = _same_content(procedure, newest, approved if edited_from is None else None)
            if same is not None and same.status is procedure.status:
                return same
            if same is not None and same.status is ProcedureStatus.PENDING:
                return await self._decide(place, same.version, _approval(procedure))
            if same is not None:
                return same
            number = newest.version + 1 if newest is not None else 1
            next_one = replace(procedure, tenant_id=scope.tenant_id, version=number)
            try:
                await self._table.transact(*_puts(place, next_one, approved, newest if edited_from else None))
            except TransactionFailed:
                continue  # another writer's version, or this one after a lost response
            return next_one
        raise StoreUnavailable

    async def get(
        self, scope: Scope, agent_id: str, procedure_id: str, *, version: int | None = None
    ) -> Procedure | None:
        place = _Place.of(scope, agent_id, procedure_id)
        found = await self._newest(place) if version is None else await self._version(place, version)
        return (await self._counted(place, [found]))[0] if found is not None else None

    async def get_approved(self, scope: Scope, agent_id: str, procedure_id: str) -> Procedure | None:
        place = _Place.of(scope, agent_id, procedure_id)
        found = await self._approved(place)
        return (await self._counted(place, [found]))[0] if found is not None else None

    async def versions(
        self, scope: Scope, agent_id: str, procedure_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[Procedure]:
        place = _Place.of(scope, agent_id, procedure_id)
        prefix = agent_keys.procedure_versions(place.slug)
        last = f"{prefix}{before - 1:06d}" if before is not None else f"{prefix}~"
        found: list[Procedure] = []
        async for page in self._table.query(place.partition, first=prefix, last=last, newest_first=True, limit=limit):
            found += [_procedure(scope, item) for item in page]
            if len(found) >= limit:
                break
        return await self._counted(place, found[:limit])

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
        place = _Place.of(scope, agent_id, procedure_id)
        return (await self._counted(place, [await self._decide(place, version, decision, read_as)]))[0]

    async def approved(
        self, scope: Scope, agent_id: str, *, of: ProcedureScope = ProcedureScope.AGENT
    ) -> Sequence[Procedure]:
        partition = agent_keys.procedures(scope, "" if of is ProcedureScope.TENANT else agent_id)
        found: list[Procedure] = []
        async for page in self._table.query(partition, prefix=agent_keys.APPROVED):
            found += [_procedure(scope, item) for item in page]
            if len(found) >= MAX_APPROVED:
                break
        return found[:MAX_APPROVED]

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
        listings = [agent_keys.procedure_listing(scope, owner, each) for owner in (*agent_ids, "") for each in statuses]
        entries: list[Item] = []
        async with aclosing(newest_first(self._table, listings, before=before, limit=limit + 1)) as listed:
            async for entry in listed:
                entries.append(entry)
                if len(entries) > limit:
                    break
        page = entries[:limit]
        items = await self._table.get_many([{"PK": entry["PK"], "SK": entry["SK"]} for entry in page]) if page else []
        items.sort(key=lambda item: str(item["listed_at"]), reverse=True)
        # The index may be a moment behind the items.
        found = [each for each in (_procedure(scope, item) for item in items) if each.status in statuses]
        counted = await self._counted(_Place.of(scope, "", ""), found)
        return counted, encode_text(page[-1]["listed_at"]) if len(entries) > limit else None

    async def forget_source(self, scope: Scope, agent_id: str, procedure_id: str, version: int) -> None:
        place = _Place.of(scope, agent_id, procedure_id)
        for _ in range(MAX_TRIES):
            item = await self._table.get(agent_keys.procedure_version(scope, place.owner, place.slug, version))
            found = _procedure(scope, item) if item is not None else None
            if item is None or found is None or found.source is None:
                return
            try:
                await self._table.transact(*_forgettings(place, item, found, await self._approved(place)))
            except TransactionFailed:
                continue  # decided meanwhile
            return
        raise StoreUnavailable

    async def record_use(
        self, scope: Scope, agent_id: str, procedure_id: str, version: int, *, run_id: str, went_well: bool
    ) -> bool:
        place = _Place.of(scope, agent_id, procedure_id)
        note = agent_keys.procedure_use(scope, place.owner, place.slug, run_id)
        for _ in range(MAX_TRIES):
            if await self._table.get(note) is not None:
                return False
            try:
                await self._table.transact(
                    Write.put(
                        {**note, "expires_at": to_millis(self._clock.now() + USE_KEPT) // 1000}, condition=_IS_NEW
                    ),
                    Write(
                        agent_keys.procedure_uses(scope, place.owner, place.slug, version),
                        _IN_ANY_CASE,
                        "ADD used :one, went_well :well",
                        {":one": 1, ":well": int(went_well)},
                    ),
                )
            except TransactionFailed:
                continue
            return True
        raise StoreUnavailable

    async def _decide(
        self, place: _Place, version: int, decision: ProcedureDecision, read_as: ProcedureStatus | None = None
    ) -> Procedure:
        for _ in range(MAX_TRIES):
            found = await self._version(place, version)
            if found is None:
                raise UnknownProcedure
            if decision.is_taken(found):
                return found
            decided = decision.applied(found)
            if decided is None or read_as not in (None, found.status):
                raise ProcedureChanged
            approved = await self._approved(place) if decision.action is ProcedureAction.APPROVE else None
            try:
                await self._table.transact(*_decisions(place, found, decided, approved))
            except TransactionFailed:
                continue  # decided meanwhile, or another version was approved
            return decided
        raise StoreUnavailable

    async def _made_of(self, place: _Place, procedure: Procedure) -> Procedure | None:
        """Return the version that was made of the same source."""
        if procedure.source is None:
            return None
        note = await self._table.get(agent_keys.procedure_source(place.scope, place.owner, procedure.source.key))
        if note is None:
            return None
        return await self._version(replace(place, slug=note["slug"]), note["version"])

    async def _version(self, place: _Place, version: int) -> Procedure | None:
        item = await self._table.get(agent_keys.procedure_version(place.scope, place.owner, place.slug, version))
        return _procedure(place.scope, item) if item is not None else None

    async def _newest(self, place: _Place) -> Procedure | None:
        prefix = agent_keys.procedure_versions(place.slug)
        async for page in self._table.query(place.partition, prefix=prefix, newest_first=True, limit=1):
            return _procedure(place.scope, page[0]) if page else None
        return None

    async def _approved(self, place: _Place) -> Procedure | None:
        item = await self._table.get(agent_keys.approved_procedure(place.scope, place.owner, place.slug))
        return _procedure(place.scope, item) if item is not None else None

    async def _counted(self, place: _Place, found: Sequence[Procedure]) -> list[Procedure]:
        """Return the versions with how often they were used."""
        wanted = [
            agent_keys.procedure_uses(place.scope, _owner(each.agent_id, each.id), each.slug, each.version)
            for each in found
        ]
        items = await self._table.get_many(wanted) if wanted else []
        counts = {(item["PK"], item["SK"]): (item["used"], item["went_well"]) for item in items}
        return [
            replace(each, used=used, went_well=well)
            for each, key in zip(found, wanted, strict=True)
            for used, well in [counts.get((key["PK"], key["SK"]), (0, 0))]
        ]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a procedure is stored."""

    scope: Scope
    owner: str
    """The agent; empty for all agents of the tenant."""
    slug: str

    @classmethod
    def of(cls, scope: Scope, agent_id: str, procedure_id: str) -> _Place:
        return cls(scope, _owner(agent_id, procedure_id), procedure_id.removeprefix(TENANT_PREFIX))

    @property
    def partition(self) -> str:
        return agent_keys.procedures(self.scope, self.owner)


def _owner(agent_id: str, procedure_id: str) -> str:
    return "" if procedure_id.startswith(TENANT_PREFIX) else agent_id


def _check_is_newest(newest: Procedure | None, version: int) -> None:
    if newest is None:
        raise UnknownProcedure
    if newest.version != version:
        raise ProcedureChanged


def _same_content(procedure: Procedure, *others: Procedure | None) -> Procedure | None:
    used = (ProcedureStatus.PENDING, ProcedureStatus.APPROVED)
    return next(
        (each for each in others if each is not None and each.status in used and each.draft == procedure.draft), None
    )


def _approval(procedure: Procedure) -> ProcedureDecision:
    return ProcedureDecision(
        ProcedureAction.APPROVE,
        procedure.decided_by or procedure.created_by,
        procedure.decided_at or procedure.created_at,
    )


def _puts(place: _Place, made: Procedure, approved: Procedure | None, edited: Procedure | None) -> list[Write]:
    """Return the writes of a new version: itself, its source, what it replaces."""
    item = _item(place, made)
    writes = [Write.put(item, condition=_IS_NEW)]
    if made.source is not None:
        note = agent_keys.procedure_source(place.scope, place.owner, made.source.key)
        writes.append(Write.put({**note, "slug": made.slug, "version": made.version}, condition=_IS_NEW))
        # In the same write as the version: whoever forgets the thread finds every version that was made of it.
        there = keys.thread_procedure(place.scope, made.source.thread_id, place.owner, made.slug, made.version)
        writes.append(Write.put({**there, "procedure_id": made.id}, condition=_IN_ANY_CASE))
    if made.status is ProcedureStatus.APPROVED:
        writes += _replacing(place, made, approved)
    if edited is not None and edited.status is ProcedureStatus.PENDING:
        writes.append(_retirement(place, edited, made.created_by, to_millis(made.created_at)))
    return writes


def _forgettings(place: _Place, item: Item, found: Procedure, approved: Procedure | None) -> list[Write]:
    """Return the writes that remove a pending version, or the source of another one."""
    assert found.source is not None  # noqa: S101 - the caller has checked
    scope, owner = place.scope, place.owner
    writes = [
        Write(agent_keys.procedure_source(scope, owner, found.source.key), _IN_ANY_CASE),
        Write(keys.thread_procedure(scope, found.source.thread_id, owner, found.slug, found.version), _IN_ANY_CASE),
    ]
    key, former = {"PK": item["PK"], "SK": item["SK"]}, {":found": found.status.value}
    if found.status is ProcedureStatus.PENDING:
        return [Write(key, "procedure_status = :found", values=former), *writes]
    change, body = "SET body = :body", {":body": PROCEDURE.pack(replace(found, source=None))}
    writes.append(Write(key, "procedure_status = :found", change, {**former, **body}))
    if approved is not None and approved.version == found.version:
        copy = agent_keys.approved_procedure(scope, owner, place.slug)
        writes.append(Write(copy, "version = :version", change, {":version": found.version, **body}))
    return writes


def _decisions(place: _Place, found: Procedure, decided: Procedure, approved: Procedure | None) -> list[Write]:
    """Return the writes of a decision."""
    if decided.status is ProcedureStatus.APPROVED:
        return [_change(place, found, decided), *_replacing(place, decided, approved)]
    writes = [_change(place, found, decided)]
    if found.status is ProcedureStatus.APPROVED:
        copy = agent_keys.approved_procedure(place.scope, place.owner, place.slug)
        writes.append(Write(copy, "version = :version", values={":version": found.version}))
    return writes


def _replacing(place: _Place, made: Procedure, approved: Procedure | None) -> list[Write]:
    """Return the writes that let turns use ``made`` in place of the ``approved`` version."""
    copy = {**_item(place, made), **agent_keys.approved_procedure(place.scope, place.owner, place.slug)}
    copy = {name: value for name, value in copy.items() if name not in ("listing", "listed_at")}
    if approved is None:
        return [Write.put(copy, condition=_IS_NEW)]
    return [
        Write.put(copy, condition="version = :former", values={":former": approved.version}),
        _retirement(place, approved, made.decided_by or made.created_by, to_millis(made.decided_at or made.created_at)),
    ]


def _retirement(place: _Place, former: Procedure, by: str, millis: int) -> Write:
    decided = replace(former, status=ProcedureStatus.RETIRED, decided_by=by, decided_at=from_millis(millis))
    return _change(place, former, decided)


def _change(place: _Place, found: Procedure, decided: Procedure) -> Write:
    item = _item(place, decided)
    names = [name for name in ("decided_by", "decided_at", "reason", "listing", "listed_at") if name in item]
    return Write(
        {"PK": item["PK"], "SK": item["SK"]},
        "procedure_status = :found",
        "SET procedure_status = :status, " + ", ".join(f"{name} = :{name}" for name in names),
        {":found": found.status.value, ":status": decided.status.value, **{f":{name}": item[name] for name in names}},
    )


def _item(place: _Place, made: Procedure) -> Item:
    # Unique among all agents' versions: the lists of several agents are merged by it.
    listed_at = f"{to_millis(made.decided_at or made.created_at):015d}#{made.agent_id}#{made.id}#{made.version:06d}"
    item: Item = {
        **agent_keys.procedure_version(place.scope, place.owner, place.slug, made.version),
        "body": PROCEDURE.pack(made),
        "version": made.version,
        "procedure_status": made.status.value,
        "listing": agent_keys.procedure_listing(place.scope, place.owner, made.status),
        "listed_at": listed_at,
    }
    if made.decided_by is not None and made.decided_at is not None:
        item |= {"decided_by": made.decided_by, "decided_at": to_millis(made.decided_at)}
    if made.reason is not None:
        item["reason"] = made.reason
    return item


def _procedure(scope: Scope, item: Item) -> Procedure:
    return PROCEDURE.unpack(
        item["body"],
        tenant_id=scope.tenant_id,
        version=item["version"],
        status=item["procedure_status"],
        decided_by=item.get("decided_by"),
        decided_at=from_millis(item["decided_at"]) if "decided_at" in item else None,
        reason=item.get("reason"),
    )
