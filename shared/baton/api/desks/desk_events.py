"""The live list of conversations at desks, as server-sent events."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import zlib
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response, StreamingResponse

from baton.api.desks.desk_schemas import DeskItem
from baton.api.http.dependencies import Caller, TokenSeconds, UseCases
from baton.api.http.problems import get_request_id, responses
from baton.api.runs import sse
from baton.composition.app import App
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.events import Event, make_custom, make_unsequenced
from baton.domain.threads.thread import Thread

Marks = dict[str, int]
"""Numbers that represent the states of conversations, by the conversations' ids."""

router = APIRouter(prefix="/v1/desk", tags=["desks"])

MAX_CONVERSATIONS = 2_000
"""Conversations of a stream after which no further page is read. The last page may exceed this number."""
MAX_OF_USER = 100
"""Conversations of one user that a stream follows, so that one user's conversations do not displace those of others."""
PAGE = 200
"""Conversations that are read at once."""
MAX_PAGES = 50
"""Pages of conversations in one read of the desks."""
MAX_MARKS = 200
"""The most conversations whose states the id of an event contains. With more, a client that resumes gets all again."""
UNMARKED = "*"
"""The id of events if there are too many conversations for an id with their states."""
MAX_TYPING = 20
"""Conversations of one person that are checked for typing users."""
MARK_BYTES = 20
"""Bytes of one conversation in the id of an event."""
MAX_EVENT_ID = MAX_MARKS * MARK_BYTES * 2
"""Characters of an event's id that are decoded. Base64 has four characters for three bytes."""
POLL_SECONDS = 0.7
"""The shortest time between two reads of the desks, in seconds. People see a change within a second."""
SECONDS_PER_CONVERSATION = 0.015
"""Seconds between two reads of the desks for each conversation: 200 conversations are read every three seconds."""


EXAMPLE = (
    'id: MA\ndata: {"type":"CUSTOM","name":"desk_changed",'
    '"value":{"threadId":"550e8400-e29b-41d4-a716-446655440000","item":null}}\n\n'
)
"""A conversation that has left the desk."""


@router.get(
    "/events",
    summary="Follow the conversations at desks",
    response_class=StreamingResponse,
    responses={
        200: {"description": "`desk_changed` events.", "content": {sse.MEDIA_TYPE: {"example": EXAMPLE}}},
        **responses("forbidden"),
    },
)
async def follow_desks(
    request: Request,
    caller: Caller,
    app: UseCases,
    timing: sse.Timings,
    token_seconds: TokenSeconds,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event seen, as browsers send it.")
    ] = None,
) -> Response:
    """Return a CUSTOM `desk_changed` for each conversation at the caller's desks, and for each later change of one.

    Its value has the item. For a conversation that has left the desk, `item` is null and `threadId` names it. With
    `Last-Event-ID`, only later changes are sent. With more than 200 conversations, all are sent again after a CUSTOM
    `desk_listed`, whose `threadIds` name the conversations at the desks.
    """
    caller.require(Permission.DESK_ANSWER, "desk.list")
    name, seconds = get_request_id(request), timing.follow_seconds
    resources = contextlib.AsyncExitStack()
    await resources.enter_async_context(app.limits.places.hold(caller, CounterKind.STREAMS, name, seconds=seconds))
    ends_at = asyncio.get_running_loop().time() + min(seconds, token_seconds)
    return sse.respond(_make_frames(app, caller, resources, ends_at, last_event_id), timing)


async def _make_frames(
    app: App, caller: Scope, resources: contextlib.AsyncExitStack, ends_at: float, last_event_id: str | None
) -> AsyncGenerator[sse.Frame, None]:
    """Yield the frames of changes since the event ``last_event_id``, until ``ends_at`` in event loop time."""
    loop, seen, is_unmarked = asyncio.get_running_loop(), _decode_marks(last_event_id), last_event_id == UNMARKED
    async with resources:
        while True:
            threads, read_count = await _find_followed(app, caller)
            taken = [thread for thread in threads if _is_taken_by(thread, caller.user_id)][:MAX_TYPING]
            # Typing before the last message does not count, because that text was sent.
            since = {thread.id: thread.last_activity_at for thread in taken}
            typing = await app.ports.live.find_typing(caller, since) if since else frozenset()
            items = {
                thread.id: DeskItem.from_record(thread).model_copy(update={"typing": thread.id in typing})
                for thread in threads
            }
            marks = {thread_id: _make_mark(item) for thread_id, item in items.items()}
            changed = [item for thread_id, item in items.items() if seen.get(thread_id) != marks[thread_id]]
            visible_items = await app.privacy.readers.redact_each_for(caller, changed, lambda item: item.user_id)
            departed = sorted(seen.keys() - items.keys())
            values: list[dict[str, Any]] = [
                *({"threadId": item.thread_id, "item": item.wire()} for item in visible_items),
                *({"threadId": thread_id, "item": None} for thread_id in departed),
            ]
            if is_unmarked:
                yield {"id": UNMARKED, "data": _make_event("desk_listed", {"threadIds": list(items)})}
                is_unmarked = False
            client_marks = dict(seen)
            is_marked = max(len(marks), len(seen)) <= MAX_MARKS
            for value in values:
                thread_id = value["threadId"]
                client_marks.pop(thread_id, None)
                if thread_id in marks:
                    client_marks[thread_id] = marks[thread_id]
                event_id = _encode_marks(client_marks) if is_marked else UNMARKED
                yield {"id": event_id, "data": _make_event("desk_changed", value)}
            seen = marks
            if loop.time() >= ends_at:
                return
            await asyncio.sleep(max(POLL_SECONDS, read_count * SECONDS_PER_CONVERSATION))


async def _find_followed(app: App, caller: Scope) -> tuple[list[Thread], int]:
    """Return the conversations to follow, in the order of their arrival, and the number of conversations read.

    At most ``MAX_OF_USER`` conversations of a user are followed, and those that the caller has taken.
    """
    threads: list[Thread] = []
    of_users = Counter[str]()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page, cursor = await app.desk_access.list_threads(
            caller, status=None, is_mine=False, desk_id=None, limit=PAGE, cursor=cursor
        )
        for thread in page:
            of_users[thread.user_id] += 1
            if of_users[thread.user_id] <= MAX_OF_USER or _is_taken_by(thread, caller.user_id):
                threads.append(thread)
        if cursor is None or len(threads) >= MAX_CONVERSATIONS:
            break
    return threads, of_users.total()


def _make_event(name: str, value: dict[str, Any]) -> str:
    event: Event = make_unsequenced(make_custom(name, value))
    return event.json()


def _is_taken_by(thread: Thread, person_id: str) -> bool:
    session = thread.conversation.desk
    return session is not None and session.is_taken_by(person_id)


def _make_mark(item: DeskItem) -> int:
    """Return a number that represents the state of the item and changes with it."""
    person = item.person.id if item.person is not None else ""
    return zlib.crc32(f"{item.last_seq} {item.desk_id} {person} {item.typing}".encode())


def _encode_marks(marks: Marks) -> str:
    """Return the id of an event, which contains the marks of all conversations that the client knows."""
    packed = b"".join(UUID(thread_id).bytes + mark.to_bytes(4) for thread_id, mark in marks.items())
    return base64.urlsafe_b64encode(packed).decode().rstrip("=") or "-"


def _decode_marks(event_id: str | None) -> Marks:
    """Return the marks in an id of ``_encode_marks``; none for any other id, so that the client gets everything."""
    if event_id is None or len(event_id) > MAX_EVENT_ID:
        return {}
    try:
        packed = base64.urlsafe_b64decode(event_id + "=" * (-len(event_id) % 4))
    except ValueError:
        return {}
    pieces = (packed[at : at + MARK_BYTES] for at in range(0, len(packed) - MARK_BYTES + 1, MARK_BYTES))
    return {str(UUID(bytes=piece[:16])): int.from_bytes(piece[16:]) for piece in pieces}
