"""Routes of desks: conversations that wait for people, and the actions of these people."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from baton.api.desks.desk_schemas import (
    AskedDesk,
    DeskCase,
    DeskItem,
    DeskListing,
    DeskListOfCaller,
    Draft,
    DraftRequest,
    NoteRequest,
    PersonMessageRequest,
    ReturnRequest,
    ServedDesk,
    ServedNote,
    StatusFilter,
    TransferRequest,
)
from baton.api.http.dependencies import Caller, Cursor, Limit, ThreadId, UseCases, query
from baton.api.http.problems import responses
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import TURN_SECONDS
from baton.api.threads.access import serve_thread
from baton.api.threads.message_schemas import Message, MessageAnswer
from baton.api.threads.messages import run_and_answer
from baton.api.threads.thread_schemas import ServedThread
from baton.composition.app import App
from baton.concurrency.tasks import gather_all
from baton.domain.desks.desk_draft import MAX_INSTRUCTION, DraftKind
from baton.domain.desks.desk_session import DeskStatus
from baton.domain.errors import DeskNotTaken, InvalidRequest, MessageIdConflict, NotAtDesk, UnknownAgent
from baton.domain.handoffs.handoff import MAX_SUMMARY
from baton.domain.tenants.identity import Permission, Scope, resolve_thread_ref
from baton.domain.threads.content import parse_content
from baton.domain.threads.desk_requests import (
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
    make_taken_error,
    make_transfer_request,
)
from baton.domain.threads.events import make_custom, make_unsequenced
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import ActionRequest
from baton.threads.desks.desk_access import AtDesk, make_person
from baton.threads.outbox.connection_sender import send_to_all
from baton.threads.requests.parsing import parse_locale, parse_message_id
from baton.turns.finished_runs import FinishedRun

router = APIRouter(prefix="/v1", tags=["desks"])

_ERRORS = "forbidden thread_unavailable not_at_desk store_unavailable"
_RUN_ERRORS = f"{_ERRORS} desk_not_taken thread_busy"


@router.get("/desk", summary="List conversations at desks", responses=responses("forbidden"))
async def list_desk(
    caller: Caller,
    app: UseCases,
    status: Annotated[StatusFilter, query("`mine`: those that the caller has taken.")] = "all",
    desk_id: Annotated[str | None, query("Only those of this desk.", "support", alias="deskId", max_length=64)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> DeskListing:
    """Return the conversations at the desks that the caller answers, the earliest arrival first.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`.
    """
    threads, next_cursor = await app.desk_access.list_threads(
        caller,
        status=DeskStatus(status) if status in set(DeskStatus) else None,
        is_mine=status == "mine",
        desk_id=desk_id,
        limit=limit,
        cursor=cursor,
    )
    items = [DeskItem.from_record(thread) for thread in threads]
    visible_items = await app.privacy.readers.redact_each_for(caller, items, lambda item: item.user_id)
    return DeskListing(items=visible_items, next_cursor=next_cursor)


@router.post(
    "/threads/{thread_id}/desk",
    summary="Ask for a person",
    response_model_exclude_unset=True,
    responses=responses("thread_unavailable unknown_agent handoff_in_progress thread_busy store_unavailable"),
)
async def ask_for_desk(
    thread_id: ThreadId, caller: Caller, app: UseCases, body: AskedDesk | None = None
) -> MessageAnswer:
    """Hand one of the caller's own conversations over to a desk, in a turn without a message.

    If the desk is closed, the answer says when it opens, and the main agent stays active, unless the desk accepts
    conversations while it is closed. A repeated request while the conversation is at the desk gets the same answer.
    """
    body = body or AskedDesk()
    caller = caller.in_language(parse_locale(body.locale))
    action = await app.controls.request_desk(caller, resolve_thread_ref(caller, thread_id), body.desk_id)
    return await run_and_answer(app, caller, action)


@router.get("/desk/desks", summary="List the caller's desks", responses=responses("forbidden"))
async def list_desks(caller: Caller, app: UseCases) -> DeskListOfCaller:
    """Return the desks that the caller answers, and whether they are open."""
    caller.require(Permission.DESK_ANSWER, "desk.list")
    now = app.ports.clock.now()
    desks = await app.desk_access.list_desks(caller)
    return DeskListOfCaller(items=[ServedDesk.from_record(desk, now) for desk in desks])


@router.get("/threads/{thread_id}/desk", summary="Read a conversation at a desk", responses=responses(_ERRORS))
async def get_case(thread_id: ThreadId, caller: Caller, app: UseCases) -> DeskCase:
    """Return a conversation at one of the caller's desks: the reason for the handoff, the notes, and other desks.

    The messages are read like those of any conversation.
    """
    at_desk = await _find_case(app, caller, thread_id, "desk.read")
    handoff, notes = await gather_all(app.desk_access.read_handoff(at_desk), app.desk_access.read_notes(at_desk))
    now, others = app.ports.clock.now(), await app.desk_access.list_transfer_targets(at_desk)
    case = DeskCase(
        item=DeskItem.from_record(at_desk.thread),
        reason=handoff.handoff_reason if handoff is not None else "",
        summary=handoff.context_summary if handoff is not None else "",
        notes=[ServedNote.from_record(note) for note in notes],
        desks=[ServedDesk.from_record(desk, now) for desk in others],
    )
    return await app.privacy.readers.redact_for(caller, at_desk.thread.user_id, case)


@router.post(
    "/threads/{thread_id}/desk/typing",
    summary="Show that the person is typing",
    status_code=204,
    response_class=Response,
    responses=responses(_ERRORS, "desk_not_taken"),
)
async def show_typing(thread_id: ThreadId, caller: Caller, app: UseCases) -> Response:
    """Send the user's open connections a CUSTOM `typing` with `{"who": "person"}`. It is stored nowhere."""
    at_desk = await _find_case(app, caller, thread_id, "desk.typing")
    _require_taken(at_desk, caller)
    event = make_unsequenced(make_custom("typing", {"who": "person"}), threadId=at_desk.thread.id)
    ports = app.ports
    await send_to_all(ports.live, ports.connections, ports.clock, at_desk.owner, at_desk.thread.id, event)
    return Response(status_code=204)


@router.post(
    "/threads/{thread_id}/desk/draft",
    summary="Ask the agent for a draft",
    responses=responses(_ERRORS, "model_error turn_timeout"),
)
async def write_draft(thread_id: ThreadId, caller: Caller, app: UseCases, body: DraftRequest) -> Draft:
    """Return a reply or a summary that the main agent's model has written. Nothing is stored, shown or executed."""
    instruction = _parse_text(body.instruction or "", "instruction", MAX_INSTRUCTION)
    at_desk = await _find_case(app, caller, thread_id, "desk.draft")
    detail = {"deskId": at_desk.desk.id, "kind": body.kind, "userId": at_desk.thread.user_id}
    await app.ports.audit.record(caller, "desk.draft", thread_id=at_desk.thread.id, outcome="allowed", detail=detail)
    written = await app.desk_drafts.write(caller, at_desk, DraftKind(body.kind), instruction)
    draft = Draft(text=written.text, sources=list(written.sources))
    return await app.privacy.readers.redact_for(caller, at_desk.thread.user_id, draft)


@router.post(
    "/threads/{thread_id}/desk/take", summary="Take a conversation", responses=responses(_ERRORS, "desk_taken")
)
async def take(thread_id: ThreadId, caller: Caller, app: UseCases) -> DeskItem:
    """Take a conversation that waits. Only one person can take it; the other people are notified."""
    at_desk = await _find_case(app, caller, thread_id, "desk.take")
    person, holder = make_person(caller), at_desk.session.person
    if holder is not None and holder.id != person.id:
        raise make_taken_error(holder)
    if holder is None:
        finished = await _carry_out(app, at_desk, make_take_request(at_desk.thread, at_desk.session, person))
        now_at_desk = await _find_case(app, caller, thread_id, "desk.take")
        if finished.thread.conversation.desk is None or not now_at_desk.session.is_taken_by(person.id):
            raise NotAtDesk
        at_desk = now_at_desk
    return await _serve_item(app, caller, at_desk)


@router.post(
    "/threads/{thread_id}/desk/messages",
    summary="Write to the user",
    status_code=201,
    response_model=Message,
    responses=responses(_RUN_ERRORS, "message_id_conflict"),
)
async def reply(thread_id: ThreadId, caller: Caller, app: UseCases, body: PersonMessageRequest) -> Response:
    """Send the user a message in the person's name. A repeated `messageId` gets the same message, with status 200."""
    message_id, content = parse_message_id(body.message_id), parse_content(body.content)
    at_desk, written = await _find_written_message(app, caller, thread_id, "desk.reply", message_id)
    if written is not None:
        if written.is_note or written.content != content:
            raise MessageIdConflict
        return _to_response(written, 200)
    taken = _require_taken(at_desk, caller)
    await app.limits.runs.admit(caller)
    request = make_reply_request(taken.thread, make_person(caller), message_id, content)
    written = (await _carry_out(app, taken, request)).messages[0]
    if written.author != request.author:
        raise MessageIdConflict  # another person has sent the same text with this id
    return _to_response(written, 201)


@router.post(
    "/threads/{thread_id}/desk/notes",
    summary="Leave a note",
    status_code=201,
    response_class=Response,
    responses=responses(_ERRORS, "message_id_conflict thread_busy"),
)
async def add_note(thread_id: ThreadId, caller: Caller, app: UseCases, body: NoteRequest) -> Response:
    """Leave a note for the people of the desk, and for the agent after the return. The user never sees it.

    A repeated request with the same `messageId` adds no second note.
    """
    message_id, text = parse_message_id(body.message_id), _parse_text(body.text, "text", MAX_SUMMARY)
    if not text:
        raise InvalidRequest("text must not be empty.")
    at_desk, written = await _find_written_message(app, caller, thread_id, "desk.note", message_id)
    if written is not None and (not written.is_note or written.text != text):
        raise MessageIdConflict
    if written is None:
        if at_desk is None:
            raise NotAtDesk
        await app.limits.runs.admit(caller)
        await _carry_out(app, at_desk, make_note_request(at_desk.thread, make_person(caller), message_id, text))
    return Response(status_code=201)


@router.post("/threads/{thread_id}/desk/return", summary="Hand the conversation back", responses=responses(_RUN_ERRORS))
async def hand_back(
    thread_id: ThreadId, caller: Caller, app: UseCases, body: ReturnRequest | None = None
) -> ServedThread:
    """Hand the conversation back to its main agent, which gets the note and the messages.

    A repeated request of the same person with the same note returns the thread.
    """
    note = _parse_text(body.note or "" if body else "", "note", MAX_SUMMARY)
    at_desk, person = await _find_unless_left(app, caller, thread_id, "desk.return"), make_person(caller)
    if not _is_taken_by_caller(at_desk, caller):
        canonical = resolve_thread_ref(caller, thread_id).id
        repeated = await app.desk_access.find_left_thread(
            caller, canonical, lambda thread, session: make_return_request(thread, session, person, note)
        )
        if repeated is not None:
            return await _serve_thread(app, caller, repeated)
    taken = _require_taken(at_desk, caller)
    finished = await _carry_out(app, taken, make_return_request(taken.thread, taken.session, person, note))
    return await _serve_thread(app, caller, finished.thread)


@router.post(
    "/threads/{thread_id}/desk/transfer",
    summary="Hand the conversation to another desk",
    responses=responses(_RUN_ERRORS, "unknown_agent desk_closed"),
)
async def transfer(thread_id: ThreadId, caller: Caller, app: UseCases, body: TransferRequest) -> ServedThread:
    """Hand the conversation to another desk, where it waits for a person.

    If that desk is closed and accepts no conversations meanwhile, the request is refused and the conversation stays at
    its desk. The user must have had the permissions that the desk requires at their last message or request. A repeated
    request of the same person with the same note returns the thread.
    """
    note = _parse_text(body.note or "", "note", MAX_SUMMARY)
    at_desk, person = await _find_unless_left(app, caller, thread_id, "desk.transfer"), make_person(caller)
    if not _is_taken_by_caller(at_desk, caller):
        repeated = await app.desk_access.find_left_thread(
            caller,
            resolve_thread_ref(caller, thread_id).id,
            lambda thread, session: make_transfer_request(thread, session, person, body.desk_id, note),
            transferred_to=body.desk_id,
        )
        if repeated is not None:
            return await _serve_thread(app, caller, repeated)
    taken = _require_taken(at_desk, caller)
    target = next(
        (desk for desk in await app.desk_access.list_transfer_targets(taken) if desk.id == body.desk_id), None
    )
    if target is None:
        raise UnknownAgent("deskId: there is no other desk of this id that the user may talk to.", is_visible=True)
    request = make_transfer_request(taken.thread, taken.session, person, target.id, note)
    return await _serve_thread(app, caller, (await _carry_out(app, taken, request)).thread)


async def _find_case(app: App, caller: Scope, thread_id: str, action: str) -> AtDesk:
    return await app.desk_access.find(caller, resolve_thread_ref(caller, thread_id).id, action)


async def _find_unless_left(app: App, caller: Scope, thread_id: str, action: str) -> AtDesk | None:
    """Return a conversation at one of the caller's desks; None if it is at no desk, as after a completed request."""
    try:
        return await _find_case(app, caller, thread_id, action)
    except NotAtDesk:
        return None


async def _find_written_message(
    app: App, caller: Scope, thread_id: str, action: str, message_id: str
) -> tuple[AtDesk | None, StoredMessage | None]:
    """Return the result of ``_find_unless_left``, and the message that the caller has written with ``message_id``.

    Either may be None.
    """
    at_desk = await _find_unless_left(app, caller, thread_id, action)
    canonical = resolve_thread_ref(caller, thread_id).id
    return at_desk, await app.desk_access.find_written_message(caller, canonical, message_id, at_desk=at_desk)


def _is_taken_by_caller(at_desk: AtDesk | None, caller: Scope) -> bool:
    return at_desk is not None and at_desk.session.is_taken_by(caller.user_id)


def _require_taken(at_desk: AtDesk | None, caller: Scope) -> AtDesk:
    """Return ``at_desk`` if the caller has taken the conversation. Raises ``NotAtDesk`` and ``DeskNotTaken``."""
    if at_desk is None:
        raise NotAtDesk
    if not _is_taken_by_caller(at_desk, caller):
        raise DeskNotTaken
    return at_desk


def _to_response(message: StoredMessage, status: int) -> Response:
    return JSONResponse(Message.from_record(message).model_dump(by_alias=True, mode="json"), status)


async def _carry_out(app: App, at_desk: AtDesk, request: ActionRequest) -> FinishedRun:
    """Carry out the run of an action. The run continues if the caller closes the connection."""
    turn = app.turns.run(at_desk.owner, request, lambda event: None, seconds=TURN_SECONDS)
    finished = await BackgroundTurn(lambda _: turn).wait_for_result()
    assert finished is not None  # noqa: S101 - only answers to interrupts may end without a run
    return finished


async def _serve_item(app: App, caller: Scope, at_desk: AtDesk) -> DeskItem:
    item = DeskItem.from_record(at_desk.thread)
    return await app.privacy.readers.redact_for(caller, at_desk.thread.user_id, item)


async def _serve_thread(app: App, caller: Scope, thread: Thread) -> ServedThread:
    served = await serve_thread(app, caller, thread)
    return await app.privacy.readers.redact_for(caller, thread.user_id, served)


def _parse_text(text: str, name: str, limit: int) -> str:
    """Return the text without white space around it; empty for an empty text.

    Raises ``InvalidRequest`` for a text that is too long, blank or invalid.
    """
    if len(text) > limit:
        raise InvalidRequest(f"{name} must have at most {limit:,} characters.")
    if not text:
        return ""
    parse_content(text, name)
    return text.strip()
