"""Routes of personal data: requests to forget and their progress, exports, and retention."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path
from fastapi.responses import StreamingResponse
from pydantic import Field

from baton.api.http.dependencies import Caller, Cursor, ThreadId, UseCases, query
from baton.api.http.middleware import JSON_LINES
from baton.api.http.problems import responses
from baton.api.http.schemas import EXTERNAL_ID, Asked, describe
from baton.api.tenants.export_lines import ExportLines, make_record_shapes
from baton.api.threads.access import find_agents_of_workflows
from baton.composition.app import App
from baton.concurrency.tasks import gather_all
from baton.domain.errors import InvalidRequest
from baton.domain.memory.forgetting import ForgetRequest, ForgetStatus, ForgetSubject, Retention
from baton.domain.tenants.identity import ME, Permission, Scope, resolve_thread_ref
from baton.domain.threads.thread_state import Describe
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, Timestamp, WireModel
from baton.entry.forget_requests import get_scope_of_user
from baton.tenants.privacy.export import ExportKind, ExportPiece
from baton.tenants.privacy.readers import sees_all

router = APIRouter(prefix="/v1", tags=["personal data"])

MAX_DAYS = 36_500
"""The longest retention other than for ever, in days: a hundred years."""
REQUEST_ID = "0b9d7c52-6a6e-4b5e-8f43-5d1e7a1c2f90"


async def _decode_user_id(
    user_id: Annotated[
        str,
        Path(
            description="`me` for the caller, or a user's id, percent-encoded.",
            max_length=768,
            examples=["me"],
            json_schema_extra=EXTERNAL_ID,  # the limits of the id before it is encoded
        ),
    ],
) -> str:
    """Return the user id in a path, decoded. The plain word ``me`` means the caller.

    Raises ``InvalidRequest`` if ``me`` is encoded, because no user may have this id.
    """
    decoded = unquote(user_id)
    if decoded == ME and user_id != ME:
        raise InvalidRequest("No user has the id me. For the caller, write it without encoding.")
    return decoded


UserId = Annotated[str, Depends(_decode_user_id)]


class ServedForgetRequest(WireModel):
    """A request to forget and its progress. It has ids and counts, but never content."""

    request_id: str = Field(validation_alias="id", examples=[REQUEST_ID])
    subject: ForgetSubject = describe("The kind of data that is forgotten.")
    user_id: str = describe("The owner of the data.", "alice")
    thread_id: str | None = Field(examples=[THREAD_ID])
    status: ForgetStatus = describe(
        "`completed`: every store was searched and nothing is left. `failed`: send the request again."
    )
    requested_by: str = Field(examples=["alice"])
    requested_at: Timestamp = Field(examples=[TIMESTAMP])
    cutoff_at: Timestamp | None = describe(
        "Conversations that began later are kept. Null until the second sweep, 16 minutes after the first.", TIMESTAMP
    )
    expected_cutoff_at: Timestamp | None = describe(
        "An estimate of `cutoffAt` until it is fixed. Messages from before this time are forgotten too.", None
    )
    ended_at: Timestamp | None = Field(examples=[TIMESTAMP])
    counts: dict[str, int] = describe(
        "The number of removed objects, by kind.", {"messages": 12, "objectVersions": 2, "threads": 1}
    )
    residue: dict[str, int] = describe("The number of objects that the last check found, by kind.", {})


class ServedRetention(WireModel):
    """Days for which the tenant's data are kept; null for ever."""

    threads: int | None = describe("Conversations, from their last activity.", 365)
    episodes: int | None = describe("Episodes, from the end of their session.", 730)
    audit: int | None = describe("Audit records.", 3650)
    uploads: int | None = describe("Uploaded files.", 90)
    changed_by: str | None = Field(examples=["admin"])
    changed_at: Timestamp | None = Field(examples=[TIMESTAMP])
    next_run_at: Timestamp | None = describe(
        "The next time from which the sweeper, which runs every minute, enforces it; null without limits.", TIMESTAMP
    )
    last_request_id: str | None = describe("The last request that enforced it, of the last 32 days.", REQUEST_ID)


Days = Annotated[int | None, Field(ge=1, le=MAX_DAYS)]


class RetentionRequest(
    Asked,
    extra="forbid",
    json_schema_extra={"minProperties": 1, "examples": [{"threads": 365, "audit": 3650, "uploads": 90}]},
):
    """Days for which the tenant's data are kept; null or left out for ever. At least one field must be sent."""

    threads: Days = None
    episodes: Days = None
    audit: Days = None
    uploads: Days = None


@router.delete(
    "/users/{user_id}/memory",
    summary="Forget a user",
    status_code=202,
    responses=responses("forbidden store_unavailable"),
)
async def forget_user(user_id: UserId, caller: Caller, app: UseCases) -> ServedForgetRequest:
    """Forget all data of the user in every store. Any id but `me` needs `user:manage`.

    This includes messages until `cutoffAt`. A repeated request while the request is running returns the same request.
    """
    return _serve_request(app, await app.privacy.forget_calls.forget_user(caller, user_id))


@router.delete(
    "/threads/{thread_id}",
    summary="Forget a thread",
    status_code=202,
    responses=responses("thread_led_by_parent store_unavailable"),
)
async def forget_thread(thread_id: ThreadId, caller: Caller, app: UseCases) -> ServedForgetRequest:
    """Forget one of the caller's conversations with its forks, in every store. A running turn is cancelled.

    Until the request has completed, messages to the conversation are refused as `thread_unavailable`; afterwards its
    id is unused.
    """
    return _serve_request(
        app, await app.privacy.forget_calls.forget_thread(caller, resolve_thread_ref(caller, thread_id).id)
    )


@router.get("/forget-requests/{request_id}", summary="Read a request to forget", responses=responses("not_found"))
async def get_forget_request(
    request_id: Annotated[str, Path(description="The id of the request.", max_length=64, examples=[REQUEST_ID])],
    caller: Caller,
    app: UseCases,
) -> ServedForgetRequest:
    """Return the progress of a request, for its sender, the user whose data it is about, and `user:manage`."""
    return _serve_request(app, await app.privacy.forget_calls.get(caller, request_id))


@router.get(
    "/users/{user_id}/export",
    summary="Export a user's data",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One JSON object a line.",
            "content": {JSON_LINES: {"schema": {"type": "string"}, "example": '{"type":"thread","id":"..."}\n'}},
        },
        **responses("forbidden"),
    },
)
async def export_user(
    user_id: UserId,
    caller: Caller,
    app: UseCases,
    content: Annotated[
        Literal["everything", "sessions"], query("`sessions`: only lines that `POST /v1/episodes/import` accepts.")
    ] = "everything",
    cursor: Cursor = None,
) -> StreamingResponse:
    """Return the stored data of the user as JSON Lines. Any id but `me` needs `user:manage`.

    Without `pii:read`, the data of other users have placeholders for personal data.

    Lines have a `type`, except sessions, which have the form of an import. A line of type `cursor` has the cursor with
    which the export can be continued; a last line of type `end` says that nothing is missing.
    """
    subject = get_scope_of_user(caller, user_id, "user.export")
    subject = Scope(subject.tenant_id, subject.user_id)
    exports = app.privacy.exports
    pieces = (
        exports.list_everything(subject, cursor=cursor, with_notes=caller.user_id != subject.user_id)
        if content == "everything"
        else exports.list_sessions(subject, cursor=cursor)
    )
    # The first piece is read here, where an invalid cursor can still become an HTTP status.
    first = await anext(pieces, None)
    detail = {"userId": subject.user_id}
    await app.ports.audit.record(caller, "user.export", thread_id=None, outcome="allowed", detail=detail)
    shapes = partial(make_record_shapes, prices=app.ports.prices, tenant_id=subject.tenant_id)
    readers = None if sees_all(caller, subject.user_id) else app.privacy.readers
    lines = ExportLines(shapes, partial(_find_describe, app, subject), readers).write(
        first, pieces, with_end=content == "everything"
    )
    return StreamingResponse(lines, media_type=JSON_LINES)


async def _find_describe(app: App, subject: Scope, piece: ExportPiece) -> Describe:
    """Return the definitions of agents as the conversation of a piece uses them."""
    match piece.kind:
        case ExportKind.THREAD:
            agents = await app.agents.in_session(subject, piece.value)
        case ExportKind.WORKFLOW:
            [agents] = await find_agents_of_workflows(app, subject, [piece.value])
        case _:
            agents = await app.agents.in_force(subject)
    return agents.describe


@router.get("/retention", summary="Read the tenant's retention", responses=responses("forbidden"))
async def get_retention(caller: Caller, app: UseCases) -> ServedRetention:
    """Return for how long the tenant's data are kept. Needs `user:manage`."""
    caller.require(Permission.USER_MANAGE, "retention.read")
    return await _to_retention(app, caller, await app.ports.retentions.get(caller))


@router.put("/retention", summary="Set the tenant's retention", responses=responses("forbidden store_unavailable"))
async def put_retention(body: RetentionRequest, caller: Caller, app: UseCases) -> ServedRetention:
    """Set for how long the tenant's data are kept. It is enforced within minutes, then daily. Needs `user:manage`.

    Send at least one field; an empty object is refused. `null` keeps the data for ever.
    """
    caller.require(Permission.USER_MANAGE, "retention.change")
    if not body.model_fields_set:
        raise InvalidRequest(
            "Name at least one of threads, episodes, audit and uploads; null keeps it for ever, as leaving out does."
        )
    days = body.model_dump()
    retention = Retention(**days, changed_by=caller.user_id, changed_at=app.ports.clock.now())
    await app.ports.retentions.put(caller, retention)
    await app.ports.audit.record(caller, "retention.change", thread_id=None, outcome="changed", detail=days)
    return await _to_retention(app, caller, retention)


async def _to_retention(app: App, caller: Scope, retention: Retention) -> ServedRetention:
    due_at, last = await gather_all(
        app.ports.retentions.find_due_time(caller), app.ports.forget_requests.find_latest_of_retention(caller)
    )
    return ServedRetention.of(
        retention,
        changed_by=retention.changed_by or None,
        next_run_at=due_at,
        last_request_id=last.id if last is not None else None,
    )


def _serve_request(app: App, request: ForgetRequest) -> ServedForgetRequest:
    return ServedForgetRequest.of(request, expected_cutoff_at=app.privacy.forget_calls.estimate_cutoff(request))
