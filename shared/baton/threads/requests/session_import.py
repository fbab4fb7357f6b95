"""Parse conversations that are imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from baton.domain.desks.desk_session import Person
from baton.domain.errors import InvalidRequest, MessageTooLarge
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import (
    MAX_MESSAGE_ID,
    MAX_USER_ID,
    MAX_USER_NAME,
    Scope,
    is_printable,
    resolve_imported_thread_ref,
)
from baton.domain.threads.content import MAX_CONTENT_BYTES
from baton.domain.threads.feedback import Rating, parse_comment
from baton.domain.threads.imported_session import ImportedMessage, ImportedSession, derive_imported_message_id
from baton.domain.threads.message import EVENT, Role
from baton.domain.threads.thread_title import parse_title
from baton.domain.times import name_offset
from baton.threads.requests.parsing import parse_time, parse_time_zone

MAX_MESSAGES = 5_000
"""Messages of one session."""
MAX_AHEAD = timedelta(days=1)
"""The longest time by which a message may be in the future: clocks differ, and times in a wrong zone are a day off."""
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""The earliest time of a message."""
_ROLES = {role.value: role for role in (Role.USER, Role.ASSISTANT, Role.TOOL)} | {EVENT: Role.USER}


def parse_imported_session(
    scope: Scope,
    *,
    session_id: str,
    agent_id: str | None,
    messages: Sequence[Mapping[str, Any]],
    ended_at: str | None,
    now: datetime,
    title: str | None = None,
    time_zone: str | None = None,
) -> ImportedSession:
    """Parse a session. Raises ``InvalidRequest`` and ``MessageTooLarge``, which name the field.

    Messages keep their ids, their times and their order, even if their times are in another order. Messages without a
    text are left out, because nothing in them can be remembered. Parts other than text become a word in brackets,
    because files are not imported. The day of a message is computed in the message's time zone, otherwise in
    ``time_zone``, otherwise by the offset of its time.
    """
    thread = resolve_imported_thread_ref(scope, session_id)
    if agent_id is not None and not is_printable(agent_id, 64):
        raise InvalidRequest("agentId must be the id of an agent.")
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise InvalidRequest(f"messages must be a list of 1 to {MAX_MESSAGES} messages.")
    zone = parse_time_zone(time_zone)
    parsed_messages = tuple(
        _parse_message(thread.id, ordinal, message, now, zone) for ordinal, message in enumerate(messages)
    )
    if len({message.id for message in parsed_messages}) < len(parsed_messages):
        raise InvalidRequest("messages: every id may occur only once.")
    parsed_messages = tuple(message for message in parsed_messages if message.text.strip())
    if not parsed_messages:
        raise InvalidRequest("messages: at least one must have a text.")
    last = max(message.timestamp for message in parsed_messages)
    end = last if ended_at is None else _parse_time(ended_at, "endedAt", now)
    if end < last:
        raise InvalidRequest("endedAt must not be before the last message.")
    parsed_title = parse_title(title) if title is not None else None
    return ImportedSession(thread.id, thread.may_create, parsed_messages, end, agent_id, parsed_title)


def _parse_message(
    thread_id: str, ordinal: int, fields: Mapping[str, Any], now: datetime, zone: str | None
) -> ImportedMessage:
    where = f"messages[{ordinal}]"
    role = _ROLES.get(fields["role"]) if isinstance(fields.get("role"), str) else None
    if role is None:
        raise InvalidRequest(f"{where}.role must be user, assistant, tool or event.")
    message_id, tool_name = fields.get("id"), fields.get("tool_name")
    if message_id is None:
        message_id = derive_imported_message_id(thread_id, ordinal)
    elif not isinstance(message_id, str) or not is_printable(message_id, MAX_MESSAGE_ID):
        raise InvalidRequest(f"{where}.id must be 1 to {MAX_MESSAGE_ID} printable characters.")
    if tool_name is not None and (not isinstance(tool_name, str) or not is_printable(tool_name, 64)):
        raise InvalidRequest(f"{where}.toolName must be the name of a tool.")
    text = _parse_text(fields.get("content"), where)
    at = _parse_time(fields.get("timestamp"), f"{where}.timestamp", now)
    rating, comment, rated_at = _parse_feedback(fields.get("feedback"), role, at, f"{where}.feedback", now)
    zone = parse_time_zone(fields.get("time_zone"), f"{where}.timeZone") or zone or _read_offset(fields["timestamp"])
    author = _parse_author(fields.get("author"), role, f"{where}.author")
    begun_by = _parse_cause(fields.get("source"), fields["role"], f"{where}.source")
    return ImportedMessage(message_id, role, text, at, tool_name, rating, comment, rated_at, zone, author, begun_by)


def _parse_cause(fields: Mapping[str, Any] | None, role: str, where: str) -> RunSource | None:
    """Return the cause of a run that no message of the user has begun; None for messages. Raises ``InvalidRequest``."""
    if (fields is not None) is not (role == EVENT):
        raise InvalidRequest(f"{where}: messages of the role event have one, and no others.")
    if fields is None:
        return None
    kind = next((kind for kind in CauseKind if kind.value == fields.get("kind")), None)
    if kind is None:
        raise InvalidRequest(f"{where}.kind must be {', '.join(CauseKind)}.")
    source_id, event_type = fields.get("id"), fields.get("type")
    if not isinstance(source_id, str) or not is_printable(source_id, MAX_MESSAGE_ID):
        raise InvalidRequest(f"{where}.id must be 1 to {MAX_MESSAGE_ID} printable characters.")
    if event_type is not None and (not isinstance(event_type, str) or not is_printable(event_type, MAX_MESSAGE_ID)):
        raise InvalidRequest(f"{where}.type must be 1 to {MAX_MESSAGE_ID} printable characters.")
    return RunSource(kind, source_id, event_type, fields.get("late"))


def _parse_author(fields: Mapping[str, Any] | None, role: Role, where: str) -> Person | None:
    """Return the person who wrote a message; None for those of users, agents and tools. Raises ``InvalidRequest``."""
    if fields is None:
        return None
    if role is not Role.ASSISTANT:
        raise InvalidRequest(f"{where}: only messages of the role assistant have one.")
    person_id, name = fields.get("id"), fields.get("name")
    if not isinstance(person_id, str) or not is_printable(person_id, MAX_USER_ID):
        raise InvalidRequest(f"{where}.id must be 1 to {MAX_USER_ID} printable characters.")
    if not isinstance(name, str) or not is_printable(name, MAX_USER_NAME):
        raise InvalidRequest(f"{where}.name must be 1 to {MAX_USER_NAME} printable characters.")
    return Person(person_id, name)


def _read_offset(timestamp: str) -> str | None:
    """Return a valid time's offset as a zone; None for ``Z`` and ``-00:00``, which name no local time (RFC 9557)."""
    offset = datetime.fromisoformat(timestamp).utcoffset()
    if offset is None or timestamp.endswith(("Z", "z", "-00:00")):
        return None
    return name_offset(offset)


def _parse_feedback(
    fields: Mapping[str, Any] | None, role: Role, said_at: datetime, where: str, now: datetime
) -> tuple[Rating | None, str | None, datetime | None]:
    """Return rating, comment and time of the feedback on a message. All are None without feedback.

    The time is ``said_at``, the message's time, if the feedback has none. Raises ``InvalidRequest``.
    """
    if fields is None:
        return None, None, None
    if role is not Role.ASSISTANT:
        raise InvalidRequest(f"{where}: only answers can be rated.")
    rating = next((rating for rating in Rating if rating.value == fields.get("rating")), None)
    if rating is None:
        raise InvalidRequest(f"{where}.rating must be up or down.")
    at = fields.get("updated_at")
    return rating, parse_comment(fields.get("comment")), _parse_time(at, f"{where}.updatedAt", now) if at else said_at


def _parse_text(content: object, where: str) -> str:
    """Return the text of the content, with a word in brackets for each other part."""
    if isinstance(content, str):
        text = content
    elif isinstance(content, list):
        text = "\n".join(_parse_part(part, f"{where}.content[{number}]") for number, part in enumerate(content))
    else:
        raise InvalidRequest(f"{where}.content must be a string or a list of parts.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(f"{where}.content holds half of a surrogate pair, which is not text.") from None
    if size > MAX_CONTENT_BYTES:
        raise MessageTooLarge
    return text


def _parse_part(part: object, where: str) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": str(kind), "metadata": {"name": str(name)}}:
            return f"[{kind[:40]}: {name[:200]}]"
        case {"type": str(kind)}:
            return f"[{kind[:40]}]"
    raise InvalidRequest(f"{where} must be an object with a type.")


def _parse_time(value: object, where: str, now: datetime) -> datetime:
    moment = parse_time(value, where)
    if not _EARLIEST <= moment <= now + MAX_AHEAD:
        raise InvalidRequest(f"{where} must be between 1970 and a day from now.")
    # Stores have milliseconds, and the time of a repetition must equal the stored one.
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
