"""Requests about a conversation at a desk: by the desk's people, by Baton in their place, and by the user."""

from __future__ import annotations

from datetime import datetime

from baton.domain.desks.desk import DeskDefinition
from baton.domain.desks.desk_session import DeskSession, DeskStatus, Person, ReturnReason
from baton.domain.errors import BatonError, DeskClosed, DeskNotTaken, DeskTaken, NotAtDesk
from baton.domain.locale_formats import find_format
from baton.domain.tenants.identity import ThreadRef, derive_record_id, derive_run_id
from baton.domain.threads.content import Content
from baton.domain.threads.message import MessageAuthor
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import ActionRequest, ConversationAction
from baton.domain.times import convert_to_zone, to_millis


def make_ask_request(thread: ThreadRef, desk_id: str, *, key: str) -> ActionRequest:
    """Return the request of a user who asks for the people of a desk. Requests with the same ``key`` are the same."""
    return _make_request(
        thread, ConversationAction.DESK_ASK, _derive_message_id(thread.id, ConversationAction.DESK_ASK, key), desk_id
    )


def make_take_request(thread: Thread, session: DeskSession, person: Person) -> ActionRequest:
    """Return the request to take a conversation. A person's repetitions are the same request."""
    key = f"{thread.active_agent_id} {derive_visit_key(thread, session)} {person.id}"
    message_id = _derive_message_id(thread.id, ConversationAction.DESK_TAKE, key)
    return _make_request(
        _make_ref(thread), ConversationAction.DESK_TAKE, message_id, thread.active_agent_id, author=person
    )


def make_reply_request(thread: Thread, person: Person, message_id: str, content: Content) -> ActionRequest:
    """Return the request of a person to write ``content`` to the user."""
    return _make_request(
        _make_ref(thread), ConversationAction.DESK_REPLY, message_id, None, content=content, author=person
    )


def make_note_request(thread: Thread, person: Person, message_id: str, text: str) -> ActionRequest:
    """Return the request of a person to leave a note for other people of the desk."""
    about = thread.active_agent_id
    return _make_request(
        _make_ref(thread), ConversationAction.DESK_NOTE, message_id, about, content=text, author=person
    )


def make_return_request(thread: Thread, session: DeskSession, person: Person, note: str) -> ActionRequest:
    """Return the request of a person to hand the conversation back. Their repetitions are the same request."""
    about = ReturnReason.PERSON.value
    message_id = _derive_message_id(
        thread.id, ConversationAction.DESK_RETURN, f"{derive_visit_key(thread, session)} {person.id}"
    )
    return _make_request(
        _make_ref(thread), ConversationAction.DESK_RETURN, message_id, about, content=note, author=person
    )


def make_expiry_request(thread: Thread, session: DeskSession, reason: ReturnReason) -> ActionRequest:
    """Return the request by which Baton hands the conversation back when no person has done so."""
    about = f"{reason.value}/{_find_moment(session, reason)}"
    message_id = _derive_message_id(
        thread.id, ConversationAction.DESK_RETURN, f"{about} {derive_visit_key(thread, session)}"
    )
    return _make_request(_make_ref(thread), ConversationAction.DESK_RETURN, message_id, about)


def make_transfer_request(
    thread: Thread, session: DeskSession, person: Person, desk_id: str, note: str
) -> ActionRequest:
    """Return the request to hand the conversation to another desk. A person's repetitions are the same request."""
    key = f"{desk_id} {derive_visit_key(thread, session)} {person.id}"
    message_id = _derive_message_id(thread.id, ConversationAction.DESK_TRANSFER, key)
    return _make_request(
        _make_ref(thread), ConversationAction.DESK_TRANSFER, message_id, desk_id, content=note, author=person
    )


def find_desk_refusal(thread: Thread, request: ActionRequest) -> BatonError | None:
    """Return the error that refuses the request in the thread's present state, or None if it may be carried out."""
    session, person = thread.conversation.desk, request.author
    if session is None:
        return NotAtDesk()
    if person is None:
        reason, _, moment = (request.about or "").partition("/")
        return None if moment == str(_find_moment(session, ReturnReason(reason))) else NotAtDesk()
    match request.action:
        case ConversationAction.DESK_TAKE:
            if request.about != thread.active_agent_id:
                return NotAtDesk()
            if session.person is not None and session.person.id != person.id:
                return make_taken_error(session.person)
            return None
        case ConversationAction.DESK_NOTE:
            return None if request.about == thread.active_agent_id else NotAtDesk()
    return None if session.is_taken_by(person.id) else DeskNotTaken()


def find_transfer_refusal(name: str, desk: DeskDefinition, now: datetime) -> DeskClosed | None:
    """Return the error that refuses a transfer to the desk of this name; None if it is open, or has a queue."""
    if desk.takes_at(now):
        return None
    opening, hours = desk.find_next_opening(now), desk.hours
    if opening is None or hours is None:
        return DeskClosed()
    local, words = convert_to_zone(hours.zone, opening), find_format("en")
    when = f"{words.format_weekday(local)}, {words.format_day(local)} at {words.format_clock(local)} ({hours.zone})"
    return DeskClosed(f"{name} is closed and opens on {when}. Hand the conversation to another desk, or return it.")


def make_taken_error(person: Person) -> DeskTaken:
    """Return the error for a conversation that ``person`` has taken."""
    return DeskTaken(f"{person.name} has taken this conversation.", person=MessageAuthor.of(person).wire())


def _find_moment(session: DeskSession, reason: ReturnReason) -> int | None:
    """Return the epoch milliseconds since which the reason to return has held; None if it does not hold now."""
    if reason is ReturnReason.SILENCE:
        since = session.unanswered_since if session.status is DeskStatus.ACTIVE else None
        return to_millis(since) if since is not None else None
    return to_millis(session.since) if session.status is DeskStatus.WAITING else None


def derive_visit_key(thread: Thread, session: DeskSession) -> str:
    """Return the key of this visit at a desk, which is unique in the thread even if two visits begin at once."""
    handoff = thread.conversation.handoff
    number = f"{handoff.ordinal}.{handoff.number}" if handoff is not None else ""
    return f"{to_millis(session.arrived_at)} {number}"


def _make_ref(thread: Thread) -> ThreadRef:
    return ThreadRef(thread.id, may_create=False)


def _derive_message_id(thread_id: str, action: ConversationAction, key: str) -> str:
    return f"{action.value}-{derive_record_id(thread_id, action.value, key)}"


def _make_request(
    thread: ThreadRef,
    action: ConversationAction,
    message_id: str,
    about: str | None,
    *,
    content: Content = "",
    author: Person | None = None,
) -> ActionRequest:
    run_id = derive_run_id(thread.id, message_id)
    return ActionRequest(thread, message_id, run_id, action, about, content=content, author=author)
