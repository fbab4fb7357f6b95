"""Read a request of Chat Completions."""

from __future__ import annotations

import base64
import binascii

from tests.models.standins.chat_rules import calls_of, text_of
from tests.models.standins.chat_tool_rules import schemas_of
from tests.models.standins.question import Attachment, Json, Message, Question, Role


def question_of(body: Json) -> Question:
    """Return what ``body`` asks."""
    response_format = body.get("response_format") or {}
    choice = body.get("tool_choice", "auto")
    return Question(
        tuple(message_of(message) for message in body["messages"]),
        {name: schema or {} for name, schema in schemas_of(body)},
        (response_format.get("json_schema") or {}).get("schema"),
        body.get("max_completion_tokens") or body.get("max_tokens"),
        choice if isinstance(choice, str) else choice["function"]["name"],
    )


def message_of(message: Json) -> Message:
    """Return a message of the request."""
    role = Role.SYSTEM if message["role"] == "developer" else Role(message["role"])
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    attachments = [_attachment(part) for part in parts if part["type"] in ("image_url", "file")]
    return Message(role, text_of(message), tuple(attachments), len(calls_of(message)))


def _attachment(part: Json) -> Attachment:
    if part["type"] == "image_url":
        return attachment("image", "", part["image_url"]["url"])
    return attachment("document", part["file"].get("filename", ""), part["file"].get("file_data", ""))


def attachment(kind: str, name: str, url: str) -> Attachment:
    """Return the attachment that a data URL, or an address, holds."""
    if not url.startswith("data:"):
        return Attachment(kind, name or url, "", 0)
    media_type, _, encoded = url.removeprefix("data:").partition(";base64,")
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return Attachment(kind, name, "broken", 0)
    text = data.decode(errors="replace") if media_type.startswith("text/") else ""
    return Attachment(kind, name, media_type, len(data), text)
