"""Personal data: forget it, see how far that has come, take it along, and say how long it is kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from aws_lambda_powertools import Logger
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field

from baton.api.authentication import Caller
from baton.api.episode_schemas import Episode
from baton.api.paths import ThreadId
from baton.api.problems import responses
from baton.api.record_schemas import AuditRecord, Handoff, Task, ToolCall
from baton.api.schemas import Asked, Feedback, Message, Thread
from baton.api.services import ApiServices, Services
from baton.api.threads import Cursor
from baton.domain.errors import (
    BatonError,
    Forbidden,
    InternalError,
    InvalidRequest,
    MalformedJson,
    NotFound,
    StoreUnavailable,
    ThreadLed,
    ThreadUnavailable,
    TokenExpired,
    Unauthorized,
)
from baton.domain.forgetting import ForgetRequest as ForgetRequestRecord
from baton.domain.forgetting import ForgetStatus, ForgetSubject
from baton.domain.identity import Permission, Scope, thread_ref
from baton.domain.message import StoredMessage
from baton.domain.metrics import Metric, count
from baton.domain.prices import Prices
from baton.domain.retention import Retention as RetentionRecord
from baton.domain.served import THREAD_ID, TIMESTAMP, Served, Timestamp
from baton.domain.thread_state import Describe, resumable_workflow
from baton.domain.time_zone import is_offset, local_time
from baton.domain.times import iso
from baton.entry.forget_requests import named_user
from baton.privacy.export import Exported, ExportKind, Session

logger = Logger(child=True)

router = APIRouter(tags=["personal data"])

JSON_LINES = "application/jsonl"
Shapes = Mapping[ExportKind, Callable[[Any], dict[str, Any]]]
MAX_DAYS = 36_500
REQUEST_ID = "0b9d7c52-6a6e-4b5e-8f43-5d1e7a1c2f90"


async def _user_in_path(
    user_id: Annotated[
        str, Path(description="`me` for the caller, or a user's id, percent-encoded.", max_length=768, examples=["me"])
    ],
) -> str:
    """Return the user id of a path."""
    return unquote(user_id)


UserId = Annotated[str, Depends(_user_in_path)]


class ForgetRequest(Served):
    """A request to forget and its progress: ids and counts, never content."""

    request_id: str = Field(validation_alias="id", examples=[REQUEST_ID])
    subject: ForgetSubject = Field(description="What is forgotten.")
    user_id: str = Field(description="Whose data.", examples=["alice"])
    thread_id: str | None = Field(examples=[THREAD_ID])
    status: ForgetStatus = Field(
        description="`completed`: every store was listed and nothing is left. `failed`: send the request again."
    )
    requested_by: str = Field(examples=["alice"])
    requested_at: Timestamp = Field(examples=[TIMESTAMP])
    cutoff_at: Timestamp | None = Field(
        description="Conversations that began later stay. Null until the second sweep, 16 minutes after the first.",
        examples=[TIMESTAMP],
    )
    expected_cutoff_at: Timestamp | None = Field(
        description="An estimate of `cutoffAt` until that is fixed: what is said before is forgotten, too.",
        examples=[None],
    )
    ended_at: Timestamp | None = Field(examples=[TIMESTAMP])
    counts: dict[str, int] = Field(
        description="How much was removed, by kind.", examples=[{"messages": 12, "objectVersions": 2, "threads": 1}]
    )
    residue: dict[str, int] = Field(description="What the last check found, by kind.", examples=[{}])


class Retention(Served):
    """How many days the tenant keeps things; null: for ever."""

    threads: int | None = Field(description="Conversations, from their last activity.", examples=[365])
    episodes: int | None = Field(description="Episodes, from the end of their session.", examples=[730])
    audit: int | None = Field(description="Audit records.", examples=[3650])
    uploads: int | None = Field(description="Uploaded files.", examples=[90])
    changed_by: str | None = Field(examples=["admin"])
    changed_at: Timestamp | None = Field(examples=[TIMESTAMP])
    next_run_at: Timestamp | None = Field(
        description="From when on the sweeper, which runs every minute, enforces it next; null if nothing is limited.",
        examples=[TIMESTAMP],
    )
    last_request_id: str | None = Field(
        description="The request to forget that enforced it last, within 32 days.", examples=[REQUEST_ID]
    )


Days = Annotated[int | None, Field(ge=1, le=MAX_DAYS)]


class RetentionRequest(Asked):
    """The days that the tenant keeps things; null or left out: for ever. At least one must be named."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"threads": 365, "audit": 3650, "uploads": 90}]}
    )

    threads: Days = None
    episodes: Days = None
    audit: Days = None
    uploads: Days = None


@router.delete(
    "/users/{user_id}/memory",
    summary="Forget a user",
    status_code=202,
    responses=responses(Unauthorized, TokenExpired, Forbidden, InvalidRequest, StoreUnavailable),
)
async def forget_user(user_id: UserId, caller: Caller, services: Services) -> ForgetRequest:
    """Forget everything that the user said, in every store. Others than `me` need `user:manage`.

    Includes what is said until `cutoffAt`. A repetition while the request is running returns the same request.
    """
    return _progress(services, await services.forget_calls.forget_user(caller, user_id))


@router.delete(
    "/threads/{thread_id}",
    summary="Forget a thread",
    status_code=202,
    responses=responses(Unauthorized, TokenExpired, ThreadUnavailable, ThreadLed, InvalidRequest, StoreUnavailable),
)
async def forget_thread(thread_id: ThreadId, caller: Caller, services: Services) -> ForgetRequest:
    """Forget one of the caller's conversations with its forks, in every store. A running turn is cancelled.

    Until the request has completed, messages to the conversation are refused as `thread_unavailable`; afterwards its
    id is unused.
    """
    return _progress(services, await services.forget_calls.forget_thread(caller, thread_ref(caller, thread_id).id))


@router.get(
    "/forget-requests/{request_id}",
    summary="Read a request to forget",
    responses=responses(Unauthorized, TokenExpired, NotFound, InvalidRequest),
)
async def get_forget_request(
    request_id: Annotated[str, Path(description="The id of the request.", max_length=64, examples=[REQUEST_ID])],
    caller: Caller,
    services: Services,
) -> ForgetRequest:
    """Return the progress of a request: for who made it, whom it is about, and holders of `user:manage`."""
    return _progress(services, await services.forget_calls.get(caller, request_id))


@router.get(
    "/users/{user_id}/export",
    summary="Export a user's data",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One JSON object a line.",
            "content": {JSON_LINES: {"schema": {"type": "string"}, "example": '{"type":"thread","id":"..."}\n'}},
        },
        **responses(Unauthorized, TokenExpired, Forbidden, InvalidRequest),
    },
)
async def export_user(
    user_id: UserId,
    caller: Caller,
    services: Services,
    content: Annotated[
        Literal["everything", "sessions"],
        Query(description="`sessions`: only lines that `POST /v1/episodes/import` accepts."),
    ] = "everything",
    cursor: Cursor = None,
) -> StreamingResponse:
    """Return what is stored of the user as JSON Lines. Others than `me` need `user:manage`.

    Lines have a `type`, except sessions, which are as they can be imported. A line of type `cursor` names where to
    continue; a last line of type `end` says that nothing is missing.
    """
    subject = named_user(caller, user_id, "user.export")
    subject = Scope(subject.tenant_id, subject.user_id)
    exports = services.exports
    whole = exports.everything if content == "everything" else exports.sessions
    pieces = whole(subject, cursor=cursor)
    # The first piece is read here, where an invalid cursor can still become an HTTP status.
    first = await anext(pieces, None)
    detail = {"userId": subject.user_id}
    await services.audit.record(caller, "user.export", thread_id=None, outcome="allowed", detail=detail)
    shapes = _shapes((await services.agents.of(subject)).describe, services.prices, subject.tenant_id)
    lines = _lines(shapes, first, pieces, with_end=content == "everything")
    return StreamingResponse(lines, media_type=JSON_LINES)


@router.get(
    "/retention",
    summary="Read the tenant's retention",
    responses=responses(Unauthorized, TokenExpired, Forbidden),
)
async def get_retention(caller: Caller, services: Services) -> Retention:
    """Return how long the tenant keeps things. Needs `user:manage`."""
    caller.require(Permission.USER_MANAGE, "retention.read")
    return await _shown(services, caller, await services.retentions.get(caller))


@router.put(
    "/retention",
    summary="Set the tenant's retention",
    responses=responses(MalformedJson, Unauthorized, TokenExpired, Forbidden, InvalidRequest, StoreUnavailable),
)
async def put_retention(asked: RetentionRequest, caller: Caller, services: Services) -> Retention:
    """Set how long the tenant keeps things. It is enforced within minutes, then once a day. Needs `user:manage`.

    Name at least one field, with `null` for what is kept for ever: an empty object is refused.
    """
    caller.require(Permission.USER_MANAGE, "retention.change")
    if not asked.model_fields_set:
        raise InvalidRequest(
            "Name at least one of threads, episodes, audit and uploads; null keeps it for ever, as leaving out does."
        )
    days = asked.model_dump()
    retention = RetentionRecord(**days, changed_by=caller.user_id, changed_at=services.clock.now())
    await services.retentions.put(caller, retention)
    await services.audit.record(caller, "retention.change", thread_id=None, outcome="changed", detail=days)
    return await _shown(services, caller, retention)


async def _shown(services: ApiServices, caller: Scope, retention: RetentionRecord) -> Retention:
    due_at, last = await asyncio.gather(
        services.retentions.due_at(caller), services.forget_requests.latest_of_retention(caller)
    )
    return Retention.of(
        retention,
        changed_by=retention.changed_by or None,
        next_run_at=due_at,
        last_request_id=last.id if last is not None else None,
    )


def _progress(services: ApiServices, request: ForgetRequestRecord) -> ForgetRequest:
    return ForgetRequest.of(request, expected_cutoff_at=services.forget_calls.expected_cutoff(request))


async def _lines(
    shapes: Shapes, first: Exported | None, pieces: AsyncIterator[Exported], *, with_end: bool
) -> AsyncGenerator[str, None]:
    """Yield the text of an export. A session's line is written message by message: it may be long."""
    try:
        if first is not None:
            yield _text(shapes, first)
            is_first = first.kind is ExportKind.SESSION_BEGIN
            async for piece in pieces:
                if piece.kind is ExportKind.SESSION_MESSAGE:
                    yield ("" if is_first else ",") + _text(shapes, piece)
                else:
                    yield _text(shapes, piece)
                is_first = piece.kind is ExportKind.SESSION_BEGIN
    except Exception as problem:  # the status is sent: only a line can still tell
        if not isinstance(problem, BatonError):
            logger.exception("export failed")
            count(Metric.INTERNAL_FAULTS)
        error = problem if isinstance(problem, BatonError) else InternalError()
        yield "\n" + _line({"type": "error", "code": error.code, "detail": error.detail})
    else:
        if with_end:
            yield _line({"type": "end"})
    finally:
        with contextlib.suppress(Exception):
            await pieces.aclose()  # type: ignore[attr-defined]


def _text(shapes: Shapes, piece: Exported) -> str:
    value = piece.value
    if piece.kind is ExportKind.SESSION_BEGIN:
        return _session_begin(value)
    if piece.kind is ExportKind.SESSION_MESSAGE:
        said = {
            "id": value.shown_id,
            "role": value.role.value,
            "content": value.text,
            **_time(value),
        }
        if piece.feedback is not None:
            said["feedback"] = Feedback.of(piece.feedback).wire()
        return _json(said)
    if piece.kind is ExportKind.SESSION_END:
        ended = f',"endedAt":"{iso(value.ended_at)}"' if value.ended_at is not None else ""
        return f"]{ended}}}\n"
    if piece.kind is ExportKind.CURSOR:
        return _line({"type": "cursor", "cursor": value})
    shape = shapes[piece.kind]
    mark = {} if piece.is_selected else {"selected": False}
    rated = {"feedback": Feedback.of(piece.feedback).wire()} if piece.feedback is not None else {}
    return _line({"type": piece.kind.value, "threadId": piece.thread_id, **mark, **shape(value), **rated})


def _time(message: StoredMessage) -> dict[str, str]:
    """Return a message's time, with the user's time zone: the import of a session takes an offset only with a time."""
    zone = message.time_zone
    if zone is not None and is_offset(zone):
        return {"timestamp": local_time(zone, message.timestamp).isoformat(timespec="milliseconds")}
    return {"timestamp": iso(message.timestamp), **({"timeZone": zone} if zone is not None else {})}


def _session_begin(session: Session) -> str:
    thread = session.thread
    # One import for each session of a thread: their ids differ, and a repeated import changes nothing.
    session_id = thread.id if session.number == 1 else f"{thread.id}#{session.number}"
    session_id += f".{session.part}" if session.part > 1 else ""
    title = {"title": thread.title} if thread.title is not None else {}
    begin = _json({"sessionId": session_id, "agentId": thread.agent_id, **title})
    return f'{begin[:-1]},"messages":['


def _shapes(describe: Describe, prices: Prices, tenant_id: str) -> Shapes:
    """Return how each kind of record is shown: as the API's other routes show it."""
    return {
        ExportKind.THREAD: lambda thread: Thread.shown(describe, prices, thread).wire(),
        ExportKind.MESSAGE: lambda message: Message.shown(message).wire(),
        ExportKind.TOOL_CALL: lambda call: ToolCall.of(call).wire(),
        ExportKind.TASK: lambda task: Task.of(task).wire(),
        ExportKind.HANDOFF: lambda handoff: Handoff.of(handoff).wire(),
        ExportKind.WORKFLOW: lambda workflow: {
            **resumable_workflow(describe, workflow).wire(),
            "data": workflow.data,
        },
        ExportKind.TIME_ZONE: lambda zone: {"timeZone": zone.name, "since": iso(zone.since)},
        ExportKind.AUDIT: lambda record: AuditRecord.of(record).wire(),
        ExportKind.EPISODE: lambda episode: Episode.shown(tenant_id, episode.user_id, episode.ref, episode).wire(),
    }


def _line(value: dict[str, Any]) -> str:
    return _json(value) + "\n"


def _json(value: dict[str, Any]) -> str:
    """Return JSON in one line, also for readers that take Unicode's line separators for ends of lines."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
