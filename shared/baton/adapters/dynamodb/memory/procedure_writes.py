"""Writes to the table that make, decide on, use and forget a version of a procedure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shapes import PROCEDURE
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.writes import Write
from baton.domain.memory.procedure import TENANT_PREFIX, Procedure, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_IN_ANY_CASE = "attribute_not_exists(PK) OR attribute_exists(PK)"
"""A condition that always holds, for writes that need none, because ``Write`` requires one."""


@dataclass(frozen=True, slots=True)
class ProcedureAddress:
    """The address of a procedure in the table."""

    scope: Scope
    owner: str
    """The agent; empty for all agents of the tenant."""
    slug: str

    @classmethod
    def of(cls, scope: Scope, agent_id: str, procedure_id: str) -> ProcedureAddress:
        """Return the address of the procedure with this id, which belongs to the agent or to its tenant."""
        return cls(scope, find_owner(agent_id, procedure_id), procedure_id.removeprefix(TENANT_PREFIX))

    @property
    def partition(self) -> str:
        """The partition of all its owner's procedures."""
        return agent_keys.procedures(self.scope, self.owner)


def find_owner(agent_id: str, procedure_id: str) -> str:
    """Return the agent's id, or an empty text for a procedure of all agents of the tenant."""
    return "" if procedure_id.startswith(TENANT_PREFIX) else agent_id


def make_version_writes(
    address: ProcedureAddress, new_version: Procedure, approved: Procedure | None, edited: Procedure | None
) -> list[Write]:
    """Return the writes of a new version: the version, the notes of its source, and the retirement of earlier ones."""
    item = _make_item(address, new_version)
    writes = [Write.put(item)]
    if new_version.source is not None:
        note = agent_keys.procedure_source(address.scope, address.owner, new_version.source.key)
        writes.append(Write.put({**note, "slug": new_version.slug, "version": new_version.version}))
        # In the version's transaction, so that forgetting the thread finds every version that was made of it.
        thread_note = keys.thread_procedure(
            address.scope, new_version.source.thread_id, address.owner, new_version.slug, new_version.version
        )
        writes.append(Write.put({**thread_note, "procedure_id": new_version.id}, condition=_IN_ANY_CASE))
    if new_version.status is ProcedureStatus.APPROVED:
        writes += _make_approval_writes(address, new_version, approved)
    if edited is not None and edited.status is ProcedureStatus.PENDING:
        writes.append(_make_retirement_write(address, edited, new_version.created_by, new_version.created_at))
    return writes


def make_forgetting_writes(
    address: ProcedureAddress, item: Item, procedure: Procedure, approved: Procedure | None
) -> list[Write]:
    """Return the writes that remove a pending version, or only the source of a version with another status.

    ``procedure`` is the version of ``item``, and must have a source.
    """
    assert procedure.source is not None  # noqa: S101 - the caller has checked
    scope, owner = address.scope, address.owner
    writes = [
        Write(agent_keys.procedure_source(scope, owner, procedure.source.key), _IN_ANY_CASE),
        Write(
            keys.thread_procedure(scope, procedure.source.thread_id, owner, procedure.slug, procedure.version),
            _IN_ANY_CASE,
        ),
    ]
    key, former = get_key(item), {":found": procedure.status.value}
    if procedure.status is ProcedureStatus.PENDING:
        return [Write(key, "procedure_status = :found", values=former), *writes]
    change, body = "SET body = :body", {":body": PROCEDURE.pack(replace(procedure, source=None))}
    writes.append(Write(key, "procedure_status = :found", change, {**former, **body}))
    if approved is not None and approved.version == procedure.version:
        copy = agent_keys.approved_procedure(scope, owner, address.slug)
        writes.append(Write(copy, "version = :version", change, {":version": procedure.version, **body}))
    return writes


def make_decision_writes(
    address: ProcedureAddress, procedure: Procedure, decided: Procedure, approved: Procedure | None
) -> list[Write]:
    """Return the writes of a decision: ``procedure`` becomes ``decided``. ``approved`` is the version now in use."""
    if decided.status is ProcedureStatus.APPROVED:
        return [_make_change(address, procedure, decided), *_make_approval_writes(address, decided, approved)]
    writes = [_make_change(address, procedure, decided)]
    if procedure.status is ProcedureStatus.APPROVED:
        copy = agent_keys.approved_procedure(address.scope, address.owner, address.slug)
        writes.append(Write(copy, "version = :version", values={":version": procedure.version}))
    return writes


def make_use_writes(
    address: ProcedureAddress, version: int, note: Key, *, expires_at: int, went_well: bool
) -> list[Write]:
    """Return the writes that count a run's use, and note it until ``expires_at`` (seconds since 1970)."""
    return [
        Write.put({**note, "expires_at": expires_at}),
        Write(
            agent_keys.procedure_uses(address.scope, address.owner, address.slug, version),
            _IN_ANY_CASE,
            "ADD used :one, went_well :well",
            {":one": 1, ":well": int(went_well)},
        ),
    ]


def _make_approval_writes(address: ProcedureAddress, new_version: Procedure, approved: Procedure | None) -> list[Write]:
    """Return the writes that let turns use ``new_version`` in place of the ``approved`` version."""
    copy = {
        **agent_keys.approved_procedure(address.scope, address.owner, address.slug),
        **make_version_attributes(new_version),
    }
    if approved is None:
        return [Write.put(copy)]
    return [
        Write.put(copy, condition="version = :former", values={":former": approved.version}),
        _make_retirement_write(
            address,
            approved,
            new_version.decided_by or new_version.created_by,
            new_version.decided_at or new_version.created_at,
        ),
    ]


def _make_retirement_write(address: ProcedureAddress, former: Procedure, by: str, at: datetime) -> Write:
    decided = replace(former, status=ProcedureStatus.RETIRED, decided_by=by, decided_at=at)
    return _make_change(address, former, decided)


def _make_change(address: ProcedureAddress, procedure: Procedure, decided: Procedure) -> Write:
    """Return the write that turns ``procedure`` into ``decided`` if its status has not changed since."""
    item = _make_item(address, decided)
    names = [name for name in ("decided_by", "decided_at", "reason", "listing", "listed_at") if item[name] is not None]
    return Write(
        get_key(item),
        "procedure_status = :found",
        "SET procedure_status = :status, " + ", ".join(f"{name} = :{name}" for name in names),
        {
            ":found": procedure.status.value,
            ":status": decided.status.value,
            **{f":{name}": item[name] for name in names},
        },
    )


def _make_item(address: ProcedureAddress, procedure: Procedure) -> Item:
    # Unique among all agents' versions, because the lists of several agents are merged by this key.
    millis = to_millis(procedure.decided_at or procedure.created_at)
    listed_at = f"{millis:015d}#{procedure.agent_id}#{procedure.id}#{procedure.version:06d}"
    return {
        **agent_keys.procedure_version(address.scope, address.owner, address.slug, procedure.version),
        **make_version_attributes(procedure),
        "listing": agent_keys.procedure_listing(address.scope, address.owner, procedure.status),
        "listed_at": listed_at,
    }


def make_version_attributes(procedure: Procedure) -> Item:
    """Return the attributes of a version, or of a private skill, that ``procedure_from_item`` reads."""
    return {
        "body": PROCEDURE.pack(procedure),
        "version": procedure.version,
        "procedure_status": procedure.status.value,
        "decided_by": procedure.decided_by,
        "decided_at": to_millis(procedure.decided_at) if procedure.decided_at is not None else None,
        "reason": procedure.reason,
    }


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
