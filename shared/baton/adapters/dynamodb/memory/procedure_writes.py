"""Writes to the table that make, decide on, use and forget a version of a procedure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import PROCEDURE
from baton.adapters.dynamodb.table import Write
from baton.domain.memory.procedure import TENANT_PREFIX, Procedure, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_IS_NEW = "attribute_not_exists(PK)"
_IN_ANY_CASE = "attribute_not_exists(PK) OR attribute_exists(PK)"


@dataclass(frozen=True, slots=True)
class ProcedurePlace:
    """The place at which a procedure is stored."""

    scope: Scope
    owner: str
    """The agent; empty for all agents of the tenant."""
    slug: str

    @classmethod
    def of(cls, scope: Scope, agent_id: str, procedure_id: str) -> ProcedurePlace:
        """Return the place of the procedure with this id. An agent and its tenant have different ones."""
        return cls(scope, owner_of(agent_id, procedure_id), procedure_id.removeprefix(TENANT_PREFIX))

    @property
    def partition(self) -> str:
        """The partition of all its owner's procedures."""
        return agent_keys.procedures(self.scope, self.owner)


def owner_of(agent_id: str, procedure_id: str) -> str:
    """Return the agent, or nothing for a procedure of all agents of the tenant."""
    return "" if procedure_id.startswith(TENANT_PREFIX) else agent_id


def writes_of_version(
    place: ProcedurePlace, made: Procedure, approved: Procedure | None, edited: Procedure | None
) -> list[Write]:
    """Return the writes of a new version: itself, its source, what it replaces."""
    item = _item(place, made)
    writes = [Write.put(item, condition=_IS_NEW)]
    if made.source is not None:
        note = agent_keys.procedure_source(place.scope, place.owner, made.source.key)
        writes.append(Write.put({**note, "slug": made.slug, "version": made.version}, condition=_IS_NEW))
        # In the same write as the version: forgetting the thread finds every version that was made of it.
        there = keys.thread_procedure(place.scope, made.source.thread_id, place.owner, made.slug, made.version)
        writes.append(Write.put({**there, "procedure_id": made.id}, condition=_IN_ANY_CASE))
    if made.status is ProcedureStatus.APPROVED:
        writes += _replacing(place, made, approved)
    if edited is not None and edited.status is ProcedureStatus.PENDING:
        writes.append(_retirement(place, edited, made.created_by, to_millis(made.created_at)))
    return writes


def writes_of_forgetting(
    place: ProcedurePlace, item: Item, found: Procedure, approved: Procedure | None
) -> list[Write]:
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


def writes_of_decision(
    place: ProcedurePlace, found: Procedure, decided: Procedure, approved: Procedure | None
) -> list[Write]:
    """Return the writes of a decision."""
    if decided.status is ProcedureStatus.APPROVED:
        return [_change(place, found, decided), *_replacing(place, decided, approved)]
    writes = [_change(place, found, decided)]
    if found.status is ProcedureStatus.APPROVED:
        copy = agent_keys.approved_procedure(place.scope, place.owner, place.slug)
        writes.append(Write(copy, "version = :version", values={":version": found.version}))
    return writes


def writes_of_use(
    place: ProcedurePlace, version: int, note: keys.Key, *, expires_at: int, went_well: bool
) -> list[Write]:
    """Return the writes that count a run's use, and note it until ``expires_at`` (seconds since 1970)."""
    return [
        Write.put({**note, "expires_at": expires_at}, condition=_IS_NEW),
        Write(
            agent_keys.procedure_uses(place.scope, place.owner, place.slug, version),
            _IN_ANY_CASE,
            "ADD used :one, went_well :well",
            {":one": 1, ":well": int(went_well)},
        ),
    ]


def _replacing(place: ProcedurePlace, made: Procedure, approved: Procedure | None) -> list[Write]:
    """Return the writes that let turns use ``made`` in place of the ``approved`` version."""
    copy = {**_item(place, made), **agent_keys.approved_procedure(place.scope, place.owner, place.slug)}
    copy = {name: value for name, value in copy.items() if name not in ("listing", "listed_at")}
    if approved is None:
        return [Write.put(copy, condition=_IS_NEW)]
    return [
        Write.put(copy, condition="version = :former", values={":former": approved.version}),
        _retirement(place, approved, made.decided_by or made.created_by, to_millis(made.decided_at or made.created_at)),
    ]


def _retirement(place: ProcedurePlace, former: Procedure, by: str, millis: int) -> Write:
    decided = replace(former, status=ProcedureStatus.RETIRED, decided_by=by, decided_at=from_millis(millis))
    return _change(place, former, decided)


def _change(place: ProcedurePlace, found: Procedure, decided: Procedure) -> Write:
    item = _item(place, decided)
    names = [name for name in ("decided_by", "decided_at", "reason", "listing", "listed_at") if name in item]
    return Write(
        {"PK": item["PK"], "SK": item["SK"]},
        "procedure_status = :found",
        "SET procedure_status = :status, " + ", ".join(f"{name} = :{name}" for name in names),
        {":found": found.status.value, ":status": decided.status.value, **{f":{name}": item[name] for name in names}},
    )


def _item(place: ProcedurePlace, made: Procedure) -> Item:
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


def procedure_from_item(scope: Scope, item: Item) -> Procedure:
    """Return the version that an item holds."""
    return PROCEDURE.unpack(
        item["body"],
        tenant_id=scope.tenant_id,
        version=item["version"],
        status=item["procedure_status"],
        decided_by=item.get("decided_by"),
        decided_at=from_millis(item["decided_at"]) if "decided_at" in item else None,
        reason=item.get("reason"),
    )
