"""Routes that list, read and rename threads, and read their messages and events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response, StreamingResponse

from baton.api.http.dependencies import Caller, Cursor, Limit, ThreadId, TokenSeconds, UseCases, query
from baton.api.http.problems import get_request_id, responses
from baton.api.http.schemas import Listing
from baton.api.runs import sse
from baton.api.runs.abandoned_runs import AbandonedRuns
from baton.api.runs.front_ends import Convert, make_front_end_conversion, select_conversion
from baton.api.threads.access import get_readable_thread, get_thread_for_people, revive, serve_thread
from baton.api.threads.message_schemas import Message, MessageListing
from baton.api.threads.thread_filters import Filters
from baton.api.threads.thread_schemas import ReadRequest, RenameRequest, ServedThread
from baton.composition.app import App
from baton.domain import errors
from baton.domain.cursors import decode_ordinal, encode_ordinal
from baton.domain.documents.numbered_passages import FILE_SOURCE
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Permission, Scope, resolve_thread_ref
from baton.domain.threads.branches import find_branch, find_tip
from baton.domain.threads.content import DOWNLOAD_URL, without_download_url
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_title import parse_title
from baton.domain.wire_model import THREAD_ID
from baton.tenants.privacy.readers import sees_all
from baton.threads.outbox.reader_events import ReaderEvents, find_beginning
from baton.threads.outbox.replay import MAX_SEQ, Replay

PAGE_CHARACTERS = 1024 * 1024
"""Characters after which a page of messages ends, even if its limit allows more messages."""
MAX_READS = 10
"""Reads of the store for one page. Each reads at most a page of messages."""

router = APIRouter(prefix="/v1/threads", tags=["threads"])

ParentThreadId = Annotated[str | None, query("List the forks of this conversation.", THREAD_ID, alias="parentThreadId")]
ProtocolVersion = Annotated[
    str | None, query("The version of AG-UI the client speaks.", "1.0", alias="protocolVersion", max_length=16)
]
Search = Annotated[str | None, query("Words, all of which must occur, whatever their case.", "lisbon")]


@router.get("", summary="List threads", responses=responses("forbidden thread_unavailable"))
async def list_threads(
    caller: Caller,
    app: UseCases,
    filters: Filters,
    limit: Limit = 20,
    cursor: Cursor = None,
    scope: Annotated[
        Literal["user", "tenant"], query("`tenant` lists those of all users; it needs `thread:read_all`.")
    ] = "user",
    parent: ParentThreadId = None,
    q: Search = None,
) -> Listing[ServedThread]:
    """Return the caller's conversations, or the tenant's, latest activity first.

    The tenant's conversations are ordered only by the hour of their last activity. Forks are listed only with their
    `parentThreadId`. With `q` or other filters, only conversations that match are returned; a page may then have fewer
    items than `limit`, or none, and still have a `nextCursor`. In other users' conversations, `q` finds titles only for
    holders of `pii:read`.
    """
    if scope == "tenant":
        if parent is not None:
            raise errors.InvalidRequest("parentThreadId: leave scope out, it lists the forks of one conversation.")
        caller.require(Permission.THREAD_READ_ALL, "thread.list")
    elif filters.user_id is not None:
        raise errors.InvalidRequest("userId: it needs scope=tenant. Without it, your own conversations are listed.")
    parent_thread = await get_readable_thread(app, caller, parent) if parent is not None else None
    # A search in titles would reveal their words to a reader who may not see them.
    owner = None if scope == "tenant" else parent_thread.user_id if parent_thread is not None else caller.user_id
    sees_titles = caller.has(Permission.PII_READ) or owner == caller.user_id
    conditions = filters.make_query(q, app.ports.prices, in_titles=sees_titles)
    if scope == "tenant":
        await app.ports.audit.record(caller, "thread.list", thread_id=None, outcome="allowed", detail={})
    threads, next_cursor = await app.ports.store.list_threads(
        caller,
        limit=limit,
        cursor=cursor,
        whole_tenant=scope == "tenant",
        parent_thread_id=parent_thread.id if parent_thread is not None else None,
        of_user=filters.user_id,
        query=conditions,
    )
    sessions = zip(threads, await app.agents.in_sessions(caller, threads), strict=True)
    items = [ServedThread.from_record(agents.describe, app.ports.prices, thread) for thread, agents in sessions]
    items = await app.privacy.readers.redact_each_for(caller, items, lambda thread: thread.user_id)
    return Listing[ServedThread](items=items, next_cursor=next_cursor)


@router.get("/{thread_id}", summary="Read a thread")
async def get_thread(thread_id: ThreadId, caller: Caller, app: UseCases) -> ServedThread:
    """Return one conversation, without its messages."""
    thread = await get_thread_for_people(app, caller, thread_id)
    last_seq = None
    if thread.run is not None:
        last_seq = (await app.replays.replay_after(caller, thread, thread.last_seq)).last_seq
    served = await serve_thread(app, caller, thread, last_seq)
    return await app.privacy.readers.redact_for(caller, thread.user_id, served)


@router.patch("/{thread_id}", summary="Rename a thread", responses=responses("store_unavailable"))
async def rename_thread(thread_id: ThreadId, caller: Caller, app: UseCases, body: RenameRequest) -> ServedThread:
    """Set the title of one of the caller's own conversations, and notify its open connections by `thread_title`."""
    title = parse_title(body.title)
    thread = await app.sessions.titles.rename(caller, resolve_thread_ref(caller, thread_id).id, title)
    return await serve_thread(app, caller, thread)


@router.put(
    "/{thread_id}/read",
    summary="Mark answers as read",
    status_code=204,
    response_class=Response,
    responses=responses("store_unavailable"),
)
async def mark_read(thread_id: ThreadId, caller: Caller, app: UseCases, body: ReadRequest) -> Response:
    """Store the place up to which the caller has read one of the caller's own conversations.

    This lowers `unread` of the thread, and never raises it. The caller's open connections are notified by
    `thread_updated`.
    """
    await app.sessions.unread_answers.mark_read(caller, resolve_thread_ref(caller, thread_id).id, body.ordinal)
    return Response(status_code=204)


@router.get(
    "/{thread_id}/messages",
    summary="Read messages",
    response_model_exclude_unset=True,
    responses=responses("branch_unavailable"),
)
async def list_messages(
    thread_id: ThreadId,
    caller: Caller,
    app: UseCases,
    limit: Limit = 50,
    cursor: Cursor = None,
    roles: Annotated[str, query("Comma-separated roles to show.", "user,assistant", max_length=100)] = "user,assistant",
    branch: Annotated[str | None, query("Show this branch instead of the selected one.", "b4", max_length=32)] = None,
) -> MessageListing:
    """Return the conversation's messages. Pages go back in time; each page is in order.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`, because other roles are skipped. A
    client that shows the first page and resumes after its `lastSeq` has the whole conversation, including the answer in
    progress.
    """
    wanted_roles = _parse_roles(roles)
    before = decode_ordinal(cursor) if cursor else None
    thread = await get_thread_for_people(app, caller, thread_id, is_repeated=cursor is not None)
    if branch is not None:
        chosen_branch = find_branch(thread.segments, thread.next_ordinal, branch)
        thread = thread.continue_from(find_tip(thread.segments, thread.next_ordinal, chosen_branch))
    messages: list[StoredMessage] = []
    for _ in range(MAX_READS):
        page = await app.ports.store.read_messages(caller, thread, limit=limit, before=before)
        messages = [*(message for message in page.messages if _is_wanted(message, wanted_roles)), *messages]
        before = page.next_before
        if (
            before is None
            or len(messages) >= limit
            or sum(len(message.text) for message in messages) >= PAGE_CHARACTERS
        ):
            break
    stored_messages = messages[-limit:]
    feedback: dict[str, Feedback] = {}
    if stored_messages:
        first, end = stored_messages[0].ordinal, stored_messages[-1].ordinal + 1
        ratings = await app.ports.feedback.between(caller, thread, first, end)
        feedback = {rating.message_id: rating for rating in ratings}
    if len(messages) > len(stored_messages):
        before = stored_messages[0].ordinal
    items = [await _add_downloads(app, caller, thread, message, feedback) for message in stored_messages]
    return MessageListing(
        items=await app.privacy.readers.redact_for(caller, thread.user_id, items),
        next_cursor=encode_ordinal(before) if before is not None else None,
        # From the read of the thread that limits the messages, so that later events are in no message yet.
        last_seq=thread.last_seq,
    )


def _is_wanted(message: StoredMessage, roles: Collection[Role]) -> bool:
    """Return whether the message is shown and has a wanted role. A message with only calls counts as a tool's."""
    if message.role is Role.ASSISTANT and not message.is_said:
        return Role.TOOL in roles and message.is_shown
    return message.role in roles and message.is_shown


@router.get(
    "/{thread_id}/events",
    summary="Follow a thread's events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "AG-UI events.",
            "content": {sse.MEDIA_TYPE: {"example": 'id: 18\ndata: {"type":"TEXT_MESSAGE_CONTENT","delta":"Hel"}\n\n'}},
        },
        **responses("invalid_sequence"),
    },
)
async def follow_events(
    request: Request,
    thread_id: ThreadId,
    caller: Caller,
    app: UseCases,
    timing: sse.Timings,
    token_seconds: TokenSeconds,
    after: Annotated[int | None, query("The last sequence number seen.", ge=0, le=MAX_SEQ)] = None,
    last_event_id: Annotated[str | None, Header(description="The same as `after`, sent by browsers.")] = None,
    protocol_version: ProtocolVersion = None,
) -> Response:
    """Return the events after `after`, then live events until the run in progress ends or a minute has passed.

    If the log no longer has the events after `after`, a snapshot of the newest messages is sent first. Without
    `protocolVersion`, the events are valid for AG-UI's version 0.0.5x too.
    """
    seen = after if after is not None else _read_sequence(last_event_id)
    name, seconds = get_request_id(request), timing.follow_seconds
    abandoned_runs: AbandonedRuns = request.app.state.abandoned_runs
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(app.limits.places.hold(caller, CounterKind.STREAMS, name, seconds=seconds))
        thread = await get_thread_for_people(app, caller, thread_id, is_repeated=True)
        when_dead = await revive(app, caller, thread, name)
        seen = await app.desk_access.find_first_readable(caller, thread, seen)
        reader = None if sees_all(caller, thread.user_id) else ReaderEvents(app.privacy.readers, seen)
        begin = seen if reader is None else find_beginning(thread, seen)
        if thread.first_readable is not None:  # at a desk, messages are not streamed, so one replay is enough
            following = _replay_once(app, caller, thread, begin)
        else:
            following = app.follower.follow(caller, thread.id, after=begin, seconds=seconds, when_dead=when_dead)
        # The first piece is read here, where an invalid sequence number can still become an HTTP status.
        first = await anext(following)
        abandoned_runs.note_return(caller, thread.id)
        convert = make_front_end_conversion(select_conversion(protocol_version))
        is_running = thread.run is not None
        frames = _make_frames(first, following, convert, reader, is_running=is_running)
        frames = abandoned_runs.count(caller, thread.id, frames)
        resources = stack.pop_all()
    ends_at = asyncio.get_running_loop().time() + token_seconds
    return sse.respond(_yield_until(ends_at, resources, frames, name), timing)


async def _replay_once(app: App, caller: Scope, thread: Thread, after: int) -> AsyncGenerator[Replay, None]:
    yield await app.replays.replay_after(caller, thread, after)


async def _yield_until(
    ends_at: float,
    resources: contextlib.AsyncExitStack,
    frames: AsyncGenerator[sse.Frame | None, None],
    request_id: str,
) -> AsyncGenerator[sse.Frame, None]:
    """Yield ``frames`` until ``ends_at``, when the request's token expires, and then release ``resources``."""
    loop = asyncio.get_running_loop()
    async with resources, contextlib.aclosing(frames):
        async for frame in frames:
            if loop.time() >= ends_at:
                yield sse.make_token_expired_frame(request_id)
                return
            if frame is not None:
                yield frame


async def _make_frames(
    first: Replay,
    following: AsyncGenerator[Replay, None],
    convert: Convert,
    reader: ReaderEvents | None,
    *,
    is_running: bool,
) -> AsyncGenerator[sse.Frame | None, None]:
    """Yield the frames of the events, and None if a replay has no events. A ``reader`` removes personal data."""
    async with contextlib.aclosing(following):
        replay: Replay | None = first
        if is_running:
            yield sse.RUNNING
        while replay is not None:
            snapshot = [] if replay.snapshot is None else [replay.snapshot]
            events = [*snapshot, *replay.events]
            if reader is not None:
                events = await reader.take(events)
            for event in events:
                yield sse.make_frame(convert(event))
            if not events:
                yield None
            replay = await anext(following, None)


def _read_sequence(last_event_id: str | None) -> int:
    if last_event_id is None:
        return 0
    is_number = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= len(str(MAX_SEQ))
    if not is_number or int(last_event_id) > MAX_SEQ:
        raise errors.InvalidRequest("Last-Event-ID must be a sequence number.")
    return int(last_event_id)


def _parse_roles(roles: str) -> set[Role]:
    stored = {Role.USER, Role.ASSISTANT, Role.TOOL}
    try:
        wanted_roles = {Role(name.strip()) for name in roles.split(",")}
    except ValueError:
        wanted_roles = set()
    if not wanted_roles or not wanted_roles <= stored:
        raise errors.InvalidRequest("roles must be a comma-separated choice of user, assistant and tool.")
    return wanted_roles


async def _add_downloads(
    app: App, scope: Scope, thread: Thread, message: StoredMessage, feedback: Mapping[str, Feedback]
) -> Message:
    """Return the message with its feedback, and with a download address in every part that refers to an upload."""
    served = Message.from_record(message, feedback.get(message.id))
    if isinstance(served.content, list):  # absent if there are only tool calls
        served.content = await _add_addresses(app, scope, thread, served.content)
    if served.metadata.attachments:
        served.metadata.attachments = await _add_addresses(app, scope, thread, served.metadata.attachments)
    for source in served.metadata.sources:
        if source.get("kind") == FILE_SOURCE and source.get("isKept"):
            source["url"] = await _find_download_url(app, scope, thread, str(source.get("id")))
    return served


async def _add_addresses(
    app: App, scope: Scope, thread: Thread, parts: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    served_parts = [without_download_url(part) for part in parts]
    for part in served_parts:
        if part["type"] != "text" and part["source"]["type"] == "file":
            url = await _find_download_url(app, scope, thread, part["source"]["value"])
            part["metadata"] = {**(part.get("metadata") or {}), DOWNLOAD_URL: url}
    return served_parts


async def _find_download_url(app: App, scope: Scope, thread: Thread, file_id: str) -> str | None:
    """Return the address at which a file can be downloaded.

    Return None if the file was never uploaded, or if the caller may not see its content.
    """
    if not sees_all(scope, thread.user_id):
        return None
    try:
        return await app.ports.files.presign_download(scope, thread.id, file_id)
    except errors.NotFound:
        return None
