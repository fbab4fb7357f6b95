"""Audit records: of a thread for its readers, and of the tenant with `audit:read`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from baton.api.authentication import Caller
from baton.api.paths import ThreadId
from baton.api.problems import responses
from baton.api.record_schemas import AuditRecord
from baton.api.schemas import Listing
from baton.api.services import Services
from baton.api.threads import Cursor, Limit
from baton.api.threads_access import readable_thread
from baton.domain.errors import Forbidden, InvalidRequest, ThreadUnavailable, TokenExpired, Unauthorized
from baton.domain.identity import Permission

router = APIRouter(tags=["audit"])


@router.get(
    "/threads/{thread_id}/audit",
    summary="Read a thread's audit records",
    responses=responses(Unauthorized, TokenExpired, ThreadUnavailable, InvalidRequest),
)
async def thread_audit(
    thread_id: ThreadId, caller: Caller, services: Services, limit: Limit = 50, cursor: Cursor = None
) -> Listing[AuditRecord]:
    """Return the audit records of this conversation, newest first, for everyone who may read it."""
    thread = await readable_thread(services, caller, thread_id)
    records, next_cursor = await services.audit.of_thread(caller, thread.id, limit=limit, cursor=cursor)
    records = await services.readers.each(caller, records, lambda record: record.user_id)
    return Listing[AuditRecord](items=records, next_cursor=next_cursor)


@router.get(
    "/audit",
    summary="Read the tenant's audit records",
    responses=responses(Unauthorized, TokenExpired, Forbidden, InvalidRequest),
)
async def tenant_audit(
    caller: Caller,
    services: Services,
    limit: Limit = 50,
    cursor: Cursor = None,
    action: Annotated[
        str | None, Query(max_length=64, description="Only this action.", examples=["thread.close"])
    ] = None,
    outcome: Annotated[str | None, Query(max_length=64, description="Only this outcome.", examples=["denied"])] = None,
    user_id: Annotated[
        str | None, Query(alias="userId", max_length=256, description="Only of this user.", examples=["alice"])
    ] = None,
    thread_id: Annotated[
        str | None, Query(alias="threadId", max_length=256, description="Only about this thread.")
    ] = None,
) -> Listing[AuditRecord]:
    """Return the tenant's records, newest first, all of them or those that match. Needs `audit:read`.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`, because records that do not match
    are skipped.
    """
    caller.require(Permission.AUDIT_READ, "audit.read")
    wanted = {"action": action, "outcome": outcome, "user_id": user_id, "thread_id": thread_id}
    records, next_cursor = await services.audit.of_tenant(
        caller,
        {name: value for name, value in wanted.items() if value is not None},
        limit=limit,
        cursor=cursor,
    )
    records = await services.readers.each(caller, records, lambda record: record.user_id)
    return Listing[AuditRecord](items=records, next_cursor=next_cursor)
