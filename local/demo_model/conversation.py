"""A request's messages as the rules see them: what was said, what is attached, what is known from it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from local.demo_model.wire import ChatMessage, OfferedFunction

_DOCUMENT = re.compile(
    r'<document name="(?P<name>[^"\n]*)" type="(?P<type>[^"\n]*)" bytes="(?P<bytes>\d+)">\n(?P<text>.*?)\n</document>',
    re.DOTALL,
)
"""How Baton's model adapter writes a text document into a message."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document in a message."""

    kind: str
    name: str
    mime_type: str | None = None
    size: int | None = None
    """Bytes; None when only an address was given."""
    first_line: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the user or the assistant."""

    role: str
    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool has answered."""

    tool: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """The messages of one request, oldest first."""

    said: tuple[Said, ...]
    tools: Mapping[str, OfferedFunction] = field(default_factory=dict)
    """The tools that may be called, by name."""
    results: tuple[Result, ...] = ()
    """What the tools answered that were called since the user spoke."""
    instructions: str = ""
    """The system prompt."""

    @classmethod
    def of(cls, messages: Sequence[ChatMessage], tools: Mapping[str, OfferedFunction] | None = None) -> Conversation:
        """Read a request's messages."""
        # An assistant's message may be nothing but tool calls.
        said = (_said(m) for m in messages if m.role == "user" or (m.role == "assistant" and m.content))
        instructions = "\n\n".join(_said(m).text for m in messages if m.role in ("system", "developer"))
        return cls(tuple(said), tools or {}, _results(messages), instructions)

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of the tools that were called since the user spoke."""
        return frozenset(result.tool for result in self.results)

    @cached_property
    def now(self) -> Said:
        """What the user has just said."""
        return next((said for said in reversed(self.said) if said.role == "user"), Said("user", ""))

    @cached_property
    def before(self) -> tuple[Said, ...]:
        """Everything before what the user has just said."""
        last = max((i for i, said in enumerate(self.said) if said.role == "user"), default=0)
        return self.said[:last]

    @cached_property
    def since(self) -> tuple[Said, ...]:
        """What the assistant has said since then, around its tool calls."""
        return self.said[len(self.before) + 1 :]

    @cached_property
    def user_before(self) -> tuple[Said, ...]:
        """The user's part of ``before``."""
        return tuple(said for said in self.before if said.role == "user")

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The user's texts, oldest first, the newest included."""
        return tuple(said.text for said in self.said if said.role == "user")


def _results(messages: Sequence[ChatMessage]) -> tuple[Result, ...]:
    last = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    since = messages[last + 1 :]
    names = {call.id: call.function.name for message in since for call in message.tool_calls or ()}
    told = [message for message in since if message.role == "tool"]
    return tuple(Result(names.get(message.tool_call_id or "", ""), _said(message).text) for message in told)


def _said(message: ChatMessage) -> Said:
    if message.content is None:
        return Said(message.role, "")
    if isinstance(message.content, str):
        return _with_documents(message.role, message.content, [])
    texts: list[str] = []
    attachments: list[Attachment] = []
    for part in message.content:
        if part.get("type") == "text":
            texts.append(str(part.get("text", "")))
        elif part.get("type") == "image_url":
            attachments.append(_image(part))
        elif part.get("type") == "file":
            attachments.append(_file(part))
    return _with_documents(message.role, "\n\n".join(texts), attachments)


def _with_documents(role: str, text: str, attachments: list[Attachment]) -> Said:
    for match in _DOCUMENT.finditer(text):
        first = next((line.strip() for line in match["text"].splitlines() if line.strip()), "")
        attachments.append(Attachment("document", match["name"], match["type"], int(match["bytes"]), first[:200]))
    # One apostrophe, so that every rule's patterns need only one.
    return Said(role, _DOCUMENT.sub("", text).strip().replace("\u2019", "'"), tuple(attachments))


def _image(part: dict[str, Any]) -> Attachment:
    image = part.get("image_url")
    url = str(image.get("url", "")) if isinstance(image, dict) else str(image)
    if not url.startswith("data:"):
        return Attachment("image", url)
    mime_type, size = _data_url(url)
    return Attachment("image", f"{(mime_type or 'image').rpartition('/')[2].upper()} image", mime_type, size)


def _file(part: dict[str, Any]) -> Attachment:
    file = part.get("file")
    if not isinstance(file, dict):
        return Attachment("document", "a document")
    mime_type, size = _data_url(str(file.get("file_data", "")))
    return Attachment("document", str(file.get("filename") or "a document"), mime_type, size)


def _data_url(url: str) -> tuple[str | None, int | None]:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return None, None
    try:
        size = len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        size = None
    return head.removeprefix("data:").split(";")[0] or None, size
