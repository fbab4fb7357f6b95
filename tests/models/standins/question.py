"""A request to a stand-in and its answer, in terms that all model APIs share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Finish(StrEnum):
    """The reason for the end of an answer."""

    STOP = "stop"
    LENGTH = "length"
    CALLS = "calls"
    FILTERED = "filtered"
    """The provider's filter stopped the prompt."""
    FILTERED_LATE = "filtered_late"
    """The provider's filter stopped the answer in the middle."""
    REFUSED = "refused"
    """The model itself declined."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a user message."""

    kind: str
    """``image`` or ``document``."""
    name: str
    media_type: str
    size: int
    """Bytes; 0 if the file was given by its address."""
    text: str = ""
    """The content of a text file."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation; a tool's result is a separate message."""

    role: Role
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    calls: int = 0
    """Number of tool calls of an assistant message."""


@dataclass(frozen=True, slots=True)
class Question:
    """The request of the client."""

    messages: tuple[Message, ...]
    tools: Mapping[str, Json] = field(default_factory=dict)
    """The JSON Schema of the arguments of each tool on offer, by its name."""
    schema: Json | None = None
    """The JSON Schema that the answer must meet."""
    max_tokens: int | None = None
    tool_choice: str = "auto"
    """``auto``, ``none``, ``required`` or the name of a tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the answer."""

    name: str
    arguments: str
    """JSON text, unless the user asked for something malformed."""

    @property
    def key(self) -> str:
        """Key that identifies the call when it is sent back, also under another id."""
        return f"{self.name}({canonical(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the model."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: Finish = Finish.STOP


def canonical(arguments: object) -> str:
    """Return arguments, as an object or as JSON text, in one form; text that is not JSON stays as it is."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return arguments
    return json.dumps(arguments or {}, sort_keys=True, separators=(",", ":"))


def tokens_of(value: object) -> int:
    """Return the tokens of a JSON value as stand-ins count them: a quarter of its characters."""
    return len(json.dumps(value, ensure_ascii=False)) // 4 + 1


MAX_PIECES = 1000


def pieces_of(text: str) -> list[str]:
    """Return ``text`` in the pieces that a stream delivers: a word each, or more words if it is long."""
    words = text.split(" ")
    size = len(words) // MAX_PIECES + 1
    pieces = [" ".join(words[start : start + size]) for start in range(0, len(words), size)]
    return [f"{piece} " for piece in pieces[:-1]] + pieces[-1:] if text else []
