"""A language model that streams its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from baton.domain.message import Content, Role
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.ports.files import ThreadFiles

MAX_ANSWER_BYTES = 1024 * 1024
"""Longest answer: its text, its calls and what the model thinks aloud, in UTF-8. As much as a user's message may have,
and eight times what models give at most; a longer one is cut and ends as ``LENGTH``."""


class FinishReason(StrEnum):
    """Why the model stopped, in the words of OpenAI's Chat Completions API."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call."""

    name: str
    """At most 64 letters, digits, ``_`` and ``-``."""
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, an object."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to the model; file references in ``content`` are resolved by the adapter through ``Files``."""

    role: Role
    content: Content
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant message called. Each call's result must follow before anyone else speaks."""
    tool_call_id: str | None = None
    """The call that a tool message answers; without it the message is told as something the user passed on."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers, and how."""

    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    timeout_seconds: float = 60.0
    """The longest silence: until the first piece of the answer, and between two pieces."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the call is about, as JSON values by name. An adapter sends it only where the deployment asks for it."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the answer; ``usage`` is None when the endpoint does not count."""

    reason: FinishReason
    model: str
    usage: Usage | None


ModelChunk = TextDelta | ToolCall | Finished


class ChatModel(Protocol):
    """A chat model. Failures are ``ModelError`` and its subclasses, nothing else.

    What is safe to repeat (nothing of the answer was given out yet) has been repeated, with back-off, before an
    error is raised.
    """

    def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer's text as it comes, then its tool calls in the model's order, then one ``Finished``.

        The ids of tool calls are unique within their answer, and never empty.

        Closing the generator stops the model. No call is given out of an answer that broke off, and none that
        ``FinishReason.LENGTH`` cut. ``Finished.reason`` is ``TOOL_CALLS`` after calls, unless the answer was cut.

        ``thread_files`` reads the uploads that file parts refer to; ``tools`` are offered, the model chooses. Raises
        ``ModelRateLimited``, ``ModelTimeout``, ``ModelUnavailable``, ``ModelRefused`` (also when the model takes no
        tools) and ``ContentFiltered``.
        """
        ...
