"""Messages of A2A clients: their content, the conversation that they belong to, and answers to interrupts."""

from __future__ import annotations

import base64
import json
import re
from fnmatch import fnmatchcase
from typing import Any

from a2a.types import Message, Part, Role
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError

from baton.api.a2a.delegation import read_extension, to_plain_json
from baton.api.a2a.json_text import with_whole_numbers
from baton.domain.runs.interrupt import APPROVED, DecisionStatus, PendingInterrupts
from baton.domain.tenants.identity import MAX_EXTERNAL_ID, MAX_MESSAGE_ID, is_printable
from baton_documents.media_types import OCTETS, MediaType, find_type, standardise_type

DATA = "a2aData"
"""The key in a text part's metadata that marks the text as the JSON of a data part."""
UNKNOWN_TYPE = "application/octet-stream"
OFFICE = "application/vnd.openxmlformats-officedocument.*"
FILE_TYPES = ("text/*", "image/*", "application/json", "application/pdf", OFFICE, UNKNOWN_TYPE)
"""The accepted media types of files. ``domain.threads.content`` refuses audio and video."""

YES = frozenset({"yes", "y", "ok", "okay", "approve", "approved", "ja", "sí", "si", "oui"})
NO = frozenset({"no", "n", "reject", "rejected", "refuse", "refused", "deny", "denied", "nein", "non"})
_INTERRUPT_IDS = ("interruptId", "interrupt_id")
_MAX_DECISION_LENGTH = 40
"""Characters of a message that can be a decision in words. Longer messages are not compared with ``YES`` and ``NO``."""
_EDGE_SIGNS = re.compile(r"^\W+|\W+$")


def check_message(message: Message) -> None:
    """Check that a message has a valid id, the role of a user, and a part. Raises ``InvalidParamsError``."""
    if not is_printable(message.message_id, MAX_MESSAGE_ID):
        raise InvalidParamsError(f"messageId must be 1 to {MAX_MESSAGE_ID} printable characters.")
    if message.role != Role.ROLE_USER:
        raise InvalidParamsError("role must be that of a user.")
    if not message.parts:
        raise InvalidParamsError("parts must have at least one part.")


def to_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the message's content in the form of AG-UI. The content of files and texts is not checked here.

    Raises ``InvalidParamsError`` for an empty part, and ``ContentTypeNotSupportedError`` for the type of a file.
    """
    parts = [_to_content_part(part) for part in message.parts]
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return str(parts[0]["text"])
    return parts


def read_context_id(message: Message) -> str | None:
    """Return the id of the message's conversation; None for a new conversation. Raises ``InvalidParamsError``.

    A tenant and a user in the metadata are ignored, because the token names them.
    """
    thread_id = read_extension(message).get("thread_id")
    if thread_id is not None and not isinstance(thread_id, str):
        raise InvalidParamsError("metadata: thread_id must be a string.")
    if message.context_id and thread_id and message.context_id != thread_id:
        raise InvalidParamsError("metadata: thread_id is not the message's contextId.")
    if message.context_id and not is_printable(message.context_id, MAX_EXTERNAL_ID):
        raise InvalidParamsError(f"contextId must be 1 to {MAX_EXTERNAL_ID} printable characters.")
    return message.context_id or thread_id or None


def read_decisions(message: Message, pending: PendingInterrupts) -> list[tuple[str, str, Any]]:
    """Return the answers to ``pending`` interrupts in a message: their ids, statuses and payloads.

    An answer is a data part ``{"approved": true or false, "comment"?: "...", "interruptId"?: "..."}``, or a message
    that says only yes or no. Without ``interruptId``, it answers all open interrupts, except calls of the client's
    tools. For any other message, which is an ordinary one, the list is empty.

    Raises ``InvalidParamsError`` for data that is meant as an answer but contains no decision. As an ordinary message,
    it would cancel the interrupts. Data is meant as an answer if the message has no text, or if the data has a key of
    an answer.
    """
    open_ids = [interrupt.id for interrupt in pending.open if not interrupt.is_client_call]
    texts = [part.text for part in message.parts if part.HasField("text")]
    decisions: dict[str, tuple[str, str, Any]] = {}
    for part in message.parts:
        if not part.HasField("data"):
            continue
        payload = to_plain_json(part.data)
        if open_ids and not _is_decision(payload) and (not texts or _is_like_answer(payload)):
            raise InvalidParamsError('An answer is data {"approved": true or false, "comment"?: "..."}.')
        if not _is_decision(payload):
            continue
        named_ids = [name for key in _INTERRUPT_IDS if (name := payload.pop(key, None)) is not None]
        if not all(isinstance(name, str) for name in named_ids):
            raise InvalidParamsError("interruptId must be the id of an interrupt.")
        for interrupt_id in named_ids or open_ids:
            decisions[interrupt_id] = (interrupt_id, DecisionStatus.RESOLVED.value, payload)
    if decisions:
        return list(decisions.values())
    if len(texts) != len(message.parts) or len("".join(texts)) > _MAX_DECISION_LENGTH:
        return []
    words = _EDGE_SIGNS.sub("", " ".join(texts).casefold())
    if words not in YES | NO:
        return []
    return [(interrupt_id, DecisionStatus.RESOLVED.value, {"approved": words in YES}) for interrupt_id in open_ids]


def _is_decision(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get(APPROVED), bool)


def _is_like_answer(value: Any) -> bool:
    """Return whether an object has a key of an answer, in upper or lower case."""
    names = {APPROVED, *(interrupt_id.casefold() for interrupt_id in _INTERRUPT_IDS)}
    return isinstance(value, dict) and any(name.strip().casefold() in names for name in value)


def _to_content_part(part: Part) -> dict[str, Any]:
    match part.WhichOneof("content"):
        case "text":
            return {"type": "text", "text": part.text}
        case "data":
            value = with_whole_numbers(to_plain_json(part.data))
            return {"type": "text", "text": json.dumps(value, ensure_ascii=False), "metadata": {DATA: True}}
        case "raw":
            _check_type(part)
            mime_type = part.media_type or UNKNOWN_TYPE
            source = {"type": "data", "value": base64.b64encode(part.raw).decode(), "mimeType": mime_type}
            return {"type": _choose_kind(mime_type), "source": source, **_make_metadata(part)}
        case "url":
            _check_type(part)
            address = {"type": "url", "value": part.url, "mimeType": part.media_type or None}
            return {"type": _choose_kind(part.media_type), "source": address, **_make_metadata(part)}
    raise InvalidParamsError("Every part needs a text, data, or a file.")


def _check_type(part: Part) -> None:
    """Raise ``ContentTypeNotSupportedError`` for a file whose media type and name are not those of an accepted type.

    A file without a media type passes, and so do audio and video, which ``domain.threads.content`` refuses.
    """
    essence = part.media_type.partition(";")[0].strip().lower()
    is_recording = essence.startswith(("audio/", "video/"))
    if (
        not essence
        or is_recording
        or any(fnmatchcase(standardise_type(essence), file_type) for file_type in FILE_TYPES)
    ):
        return
    media_type = find_type(MediaType.parse(part.media_type), part.filename)
    if media_type is None or media_type.essence == OCTETS:
        raise ContentTypeNotSupportedError(f"Files of the type {part.media_type[:100]!r} are not supported.")


def _choose_kind(media_type: str) -> str:
    return "image" if MediaType.parse(media_type).kind == "image" else "document"


def _make_metadata(part: Part) -> dict[str, Any]:
    return {"metadata": {"name": part.filename}} if part.filename else {}
