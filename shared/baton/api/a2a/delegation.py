"""Metadata of a message from another agent: the parent task, the handoff, and the user's time zone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import Error as JsonError  # type: ignore[import-untyped]
from google.protobuf.json_format import MessageToDict

from baton.domain.handoffs.handoff import MAX_SUMMARY
from baton.domain.tenants.identity import is_printable
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.threads.turn_requests import ClientOffer, IncomingHandoff
from baton.domain.times import MAX_TIME_ZONE, is_time_zone

MAX_PARENT = 512
"""Characters of the id of a parent task."""
MAX_NAME = 200
"""Characters of a role, and of an agent's id."""
MAX_REASON = 1_000
"""Characters of the reason of a handoff."""
MAX_RECENT = 20
"""The number of newest messages in a handoff that are read."""
MAX_RECENT_CHARS = 8_000
"""Characters of these messages together."""
CUT_MARK = " [cut]"
"""The end of a text that was cut."""


def read_extension(message: Message) -> dict[str, Any]:
    """Return the metadata of Baton's extension; without the extension, all metadata, which may have the same keys."""
    metadata = to_plain_json(message.metadata) if message.HasField("metadata") else {}
    extension = metadata.get(EXTENSION_URI, metadata)
    return extension if isinstance(extension, dict) else {}


def read_delegation(message: Message) -> ClientOffer | None:
    """Return the parent task and the handoff in the message's metadata; None if it has neither.

    Field names may be in camel case too, as clients of A2A 1.0 write them. Long texts are cut, so that agents that hand
    over a long conversation need not know the limits. A tenant and a user in the handoff are ignored, because the token
    names them. Raises ``InvalidParamsError`` for a value of another shape.
    """
    extension = read_extension(message)
    parent, handoff = extension.get("parent_task_id", extension.get("parentTaskId")), extension.get("handoff")
    if parent is not None and not (isinstance(parent, str) and is_printable(parent, MAX_PARENT)):
        raise InvalidParamsError("metadata: parent_task_id must be the id of a task.")
    if handoff is not None and not isinstance(handoff, dict):
        raise InvalidParamsError("metadata: handoff must be an object.")
    if parent is None and not handoff:
        return None
    if not handoff:
        return ClientOffer(parent_task_id=parent)
    incoming = IncomingHandoff(
        source_agent_id=_read_text(handoff, MAX_NAME, "source_agent_id", "sourceAgentId"),
        reason=_read_text(handoff, MAX_REASON, "handoff_reason", "handoffReason", "reason"),
        summary=_read_text(handoff, MAX_SUMMARY, "context_summary", "contextSummary", "summary"),
        recent=_read_recent(handoff.get("recent_messages", handoff.get("recentMessages"))),
    )
    return ClientOffer(parent_task_id=parent, handoff=incoming)


def read_time_zone(message: Message) -> str | None:
    """Return the user's time zone in the message's metadata; None if it has none, or an unknown zone.

    An unknown zone is ignored, because the sender may have a newer list of zones, and a wrong day is better than no
    answer. Raises ``InvalidParamsError`` for a value that is not a name.
    """
    extension = read_extension(message)
    zone = extension.get("time_zone", extension.get("timeZone"))
    if zone is not None and not (isinstance(zone, str) and is_printable(zone, MAX_TIME_ZONE)):
        raise InvalidParamsError("metadata: time_zone must be the name of a time zone, such as Europe/Vienna.")
    return zone if zone is not None and is_time_zone(zone) else None


def inherit_offer(offer: ClientOffer | None, first: ClientOffer | None) -> ClientOffer | None:
    """Return the offer of a later message in a task, whose ``first`` message had an offer.

    It has the later message's parent task, by default the first message's, and the handoff of the first message.
    """
    if first is None or (first.parent_task_id is None and first.handoff is None):
        return offer
    parent = offer.parent_task_id if offer is not None else None
    return ClientOffer(parent_task_id=parent or first.parent_task_id, handoff=first.handoff)


def inherit_handoff(offer: ClientOffer | None, latest: ClientOffer | None) -> ClientOffer | None:
    """Return the offer of a new task's first message, with the handoff of the ``latest`` offer in the session."""
    if latest is None or latest.handoff is None:
        return offer
    return replace(offer or ClientOffer(), handoff=latest.handoff)


def to_plain_json(value: Any) -> Any:
    """Return a protobuf value of free-form data as JSON.

    Raises ``InvalidParamsError`` for numbers that are too large for JSON.
    """
    try:
        return MessageToDict(value)
    except (JsonError, ValueError):
        raise InvalidParamsError("A number is too large.") from None


def _read_text(extension: dict[str, Any], max_length: int, *names: str) -> str:
    """Return the value of the first field in ``names`` that is set, cut to ``max_length`` characters; else empty."""
    for name in names:
        value = extension.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise InvalidParamsError(f"metadata: handoff.{name} must be a string.")
        text = value.strip()
        return text if len(text) <= max_length else text[: max(max_length - len(CUT_MARK), 0)] + CUT_MARK
    return ""


def _read_recent(messages: Any) -> tuple[tuple[str, str], ...]:
    """Return the roles and texts of the newest messages that fit ``MAX_RECENT_CHARS``, oldest first."""
    if messages is None:
        return ()
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise InvalidParamsError("metadata: handoff.recent_messages must be a list of objects.")
    recent: list[tuple[str, str]] = []
    room = MAX_RECENT_CHARS
    for message in reversed(messages[-MAX_RECENT:]):
        role, text = _read_text(message, MAX_NAME, "role"), _read_text(message, room, "content")
        room -= len(text)
        if text:
            recent.append((role, text))
        if room <= len(CUT_MARK):
            break
    return tuple(reversed(recent))
