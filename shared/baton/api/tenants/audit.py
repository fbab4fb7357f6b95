"""Routes of audit records: a thread's records for its readers, and the tenant's for holders of `audit:read`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from baton.api.http.dependencies import Caller, Cursor, Limit, ThreadId, UseCases, query
from baton.api.http.middleware import JSON_LINES
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.threads.access import get_readable_thread, make_once_for_reads
from baton.api.threads.record_schemas import ServedAuditRecord
from baton.api.threads.thread_filters import parse_period
from baton.composition.app import App
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.times import to_iso
from baton.domain.wire_model import TIMESTAMP, RequestTime
from baton.ports.tenants.audit import AuditRecord

EXPORT_PAGE = 100
"""Records that an export reads at once."""
MAX_EXPORTED = 10_000
"""Records of one export. Its last line has the cursor with which the next export continues."""
MAX_EXPORT_PAGES = 200
"""Pages that one export reads. With filters, a page may be empty."""

router = APIRouter(prefix="/v1", tags=["audit"])


@router.get("/threads/{thread_id}/audit", summary="Read a thread's audit records")
async def list_thread_audit(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedAuditRecord]:
    """Return the audit records of this conversation, newest first, for everyone who may read it.

    Personal data of others is replaced for callers without `pii:read`.
    """
    thread = await get_readable_thread(app, caller, thread_id)
    records, next_cursor = await app.ports.audit.of_thread(caller, thread.id, limit=limit, cursor=cursor)
    records = await app.privacy.readers.redact_each_for(caller, records, lambda record: record.user_id)
    return Listing[ServedAuditRecord](items=records, next_cursor=next_cursor)


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """A selection of audit records."""

    fields: Mapping[str, str]
    since: datetime | None
    until: datetime | None

    @property
    def detail(self) -> dict[str, Any]:
        """The detail of the audit record for a read with these filters."""
        times = {"from": self.since, "to": self.until}
        return {**self.fields, **{name: to_iso(time) for name, time in times.items() if time is not None}}


async def _make_filters(
    since: Annotated[RequestTime | None, query("Only at or after this time.", TIMESTAMP, alias="from")] = None,
    until: Annotated[RequestTime | None, query("Only at or before this time.", TIMESTAMP, alias="to")] = None,
    action: Annotated[str | None, query("Only this action.", "thread.close", max_length=64)] = None,
    outcome: Annotated[str | None, query("Only this outcome.", "denied", max_length=64)] = None,
    user_id: Annotated[str | None, query("Only of this user.", "alice", alias="userId", max_length=256)] = None,
    thread_id: Annotated[str | None, query("Only about this thread.", alias="threadId", max_length=256)] = None,
    agent_id: Annotated[
        str | None, query("Only about this agent.", "assistant", alias="agentId", max_length=64)
    ] = None,
) -> AuditFilters:
    """Return the filters of a request. Raises ``InvalidRequest``."""
    fields = {"action": action, "outcome": outcome, "user_id": user_id, "thread_id": thread_id, "agent_id": agent_id}
    return AuditFilters(
        {name: value for name, value in fields.items() if value is not None}, *parse_period(since, until)
    )


Filters = Annotated[AuditFilters, Depends(_make_filters)]


@router.get("/audit", summary="Read the tenant's audit records", responses=responses("forbidden"))
async def list_tenant_audit(
    caller: Caller, app: UseCases, filters: Filters, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedAuditRecord]:
    """Return the tenant's records, newest first, all of them or those that match. Needs `audit:read`.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`, because records that do not match
    are skipped. Reading is audited too, but the same read only once in fifteen minutes.
    """
    caller.require(Permission.AUDIT_READ, "audit.read")
    records, next_cursor = await _read_page(app, caller, filters, limit, cursor)
    once = make_once_for_reads(caller, f"audit {json.dumps(filters.detail)}", app.ports.clock.now())
    await app.ports.audit.record(
        caller, "audit.read", thread_id=None, outcome="allowed", detail=filters.detail, once=once
    )
    return Listing[ServedAuditRecord](items=records, next_cursor=next_cursor)


@router.get(
    "/audit/export",
    summary="Export audit records",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One record a line, as `GET /v1/audit` has them, then `{type: end, nextCursor}`.",
            "content": {JSON_LINES: {"example": '{"type":"end","records":0,"nextCursor":null}\n'}},
        },
        **responses("forbidden"),
    },
)
async def export_audit(caller: Caller, app: UseCases, filters: Filters, cursor: Cursor = None) -> StreamingResponse:
    """Return the tenant's records, newest first, as JSON lines. Needs `audit:read`; each export is audited.

    If the last line is missing, the export broke off. If the last line has a `nextCursor`, continue the export with it.
    """
    caller.require(Permission.AUDIT_READ, "audit.export")
    first = await _read_page(app, caller, filters, EXPORT_PAGE, cursor)  # before the response, for an error's status
    await app.ports.audit.record(caller, "audit.export", thread_id=None, outcome="allowed", detail=filters.detail)
    headers = {"Content-Disposition": 'attachment; filename="audit-records.jsonl"'}
    lines = _write_lines(app, caller, filters, first)
    return StreamingResponse(lines, media_type=JSON_LINES, headers=headers)


async def _write_lines(
    app: App, caller: Scope, filters: AuditFilters, page: tuple[Sequence[AuditRecord], str | None]
) -> AsyncGenerator[str, None]:
    """Yield the lines of an export that begins with ``page``."""
    written = pages = 0
    while True:
        records, cursor = page
        for record in records:
            yield f"{json.dumps(ServedAuditRecord.of(record).wire(), ensure_ascii=False)}\n"
        written += len(records)
        pages += 1
        if cursor is None or written >= MAX_EXPORTED or pages >= MAX_EXPORT_PAGES:
            break
        page = await _read_page(app, caller, filters, EXPORT_PAGE, cursor)
    yield f"{json.dumps({'type': 'end', 'records': written, 'nextCursor': cursor})}\n"


async def _read_page(
    app: App, caller: Scope, filters: AuditFilters, limit: int, cursor: str | None
) -> tuple[Sequence[AuditRecord], str | None]:
    """Return a page of records, redacted for the caller, and the next page's cursor."""
    records, next_cursor = await app.ports.audit.of_tenant(
        caller, filters.fields, limit=limit, cursor=cursor, since=filters.since, until=filters.until
    )
    return await app.privacy.readers.redact_each_for(caller, records, lambda record: record.user_id), next_cursor
