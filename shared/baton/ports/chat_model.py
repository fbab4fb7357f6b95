"""A language model that streams its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from baton.domain.message import Content, Role
from baton.domain.usage import Usage
from baton.ports.files import ThreadFiles


class FinishReason(StrEnum):
    """Why the model stopped, in the words of OpenAI's Chat Completions API."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to the model; file references in ``content`` are resolved by the adapter through ``Files``."""

    role: Role
    content: Content
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers, and how."""

    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    timeout_seconds: float = 60.0
    """The longest silence: until the first piece of the answer, and between two pieces."""


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


ModelChunk = TextDelta | Finished


class ChatModel(Protocol):
    """A chat model. Failures are ``ModelError`` and its subclasses, nothing else.

    What is safe to repeat (nothing of the answer was given out yet) has been repeated, with back-off, before an
    error is raised.
    """

    def stream(
        self, settings: ModelSettings, prompts: Sequence[Prompt], *, thread_files: ThreadFiles
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer's text as it comes and one ``Finished`` last; closing the generator stops the model.

        ``thread_files`` reads the uploads that file parts refer to. Raises ``ModelRateLimited``, ``ModelTimeout``,
        ``ModelUnavailable``, ``ModelRefused`` and ``ContentFiltered``.
        """
        ...
