"""The export of the caller's tenant. The route also answers for a tenant that is removed: some records may be kept."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from baton.api.http.dependencies import UseCases, VerifiedCaller, query
from baton.api.http.middleware import JSON_LINES
from baton.api.http.problems import get_request_id, responses
from baton.api.tenants.export_lines import make_error_line, make_line
from baton.domain.errors import TenantRemoved
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_iso
from baton.ports.tenants.export import StoredObject, StoredRecord
from baton.tenants.privacy.tenant_export import FORMAT, ExportEnd, ExportPart, ExportPosition, TenantExports

router = APIRouter(prefix="/v1", tags=["tenants"])

PAGE_SECONDS = 20.0
"""The time after which a page ends. A client that loses its connection repeats one page only."""

SealedCursor = Annotated[str | None, query("`nextCursor` of the last line of the previous page.", max_length=6000)]


@router.get(
    "/tenant-export",
    summary="Export the tenant",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One JSON object a line.",
            "content": {JSON_LINES: {"schema": {"type": "string"}, "example": '{"type":"end","nextCursor":null}\n'}},
        },
        **responses("forbidden rate_limited store_unavailable"),
    },
)
async def export_tenant(
    request: Request, caller: VerifiedCaller, app: UseCases, cursor: SealedCursor = None
) -> StreamingResponse:
    """Return a page of everything that is stored of the caller's tenant, as JSON Lines. Needs `tenant:export`.

    The last line has the type `end` and, except on the last page, the cursor of the next page. A page without it
    broke off. An export can be continued for a week. The route also answers for a removed tenant. A tenant can read
    only one page at a time.
    """
    exports = app.privacy.tenant_exports
    position = await exports.begin(caller, cursor)
    name = get_request_id(request)
    async with AsyncExitStack() as stack:
        with contextlib.suppress(TenantRemoved):  # nothing is counted for a removed tenant, which has little left
            await stack.enter_async_context(
                app.limits.places.hold(caller, CounterKind.EXPORTS, name, seconds=PAGE_SECONDS)
            )
        resources = stack.pop_all()
    return StreamingResponse(_write_lines(exports, caller, position, resources), media_type=JSON_LINES)


async def _write_lines(
    exports: TenantExports, scope: Scope, position: ExportPosition, resources: AsyncExitStack
) -> AsyncGenerator[str, None]:
    """Yield the lines of a page, and then free ``resources``."""
    async with resources:
        began_at = to_iso(position.began_at)
        yield make_line({"type": "begin", "format": FORMAT, "tenantId": scope.tenant_id, "beganAt": began_at})
        try:
            async with aclosing(exports.read_page(scope, position, seconds=PAGE_SECONDS)) as parts:
                async for part in parts:
                    yield make_line(_to_line(part))
        except Exception as problem:  # noqa: BLE001 - the status is sent: only a line can still report the error
            yield make_error_line(problem)


def _to_line(part: ExportPart) -> dict[str, Any]:
    """Return the line of a record, an object or the end."""
    match part:
        case StoredRecord():
            return {
                "type": "record",
                "kind": part.kind,
                "partition": part.partition,
                "key": part.key,
                "values": part.values,
            }
        case StoredObject(url=None):
            thread_id, _, digest = part.name.split("/")
            return {"type": "body", "threadId": thread_id, "sha256": digest, "value": part.body}
        case StoredObject():
            stored_at = to_iso(part.stored_at)
            return {"type": "file", "name": part.name, "bytes": part.size, "storedAt": stored_at, "url": part.url}
        case ExportEnd():
            numbers = {"counts": dict(sorted(part.counts.items())), "leftOut": dict(sorted(part.left_out.items()))}
            return {"type": "end", **numbers, "nextCursor": part.cursor}
