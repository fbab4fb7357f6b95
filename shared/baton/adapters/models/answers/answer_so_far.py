"""The part of an answer that has been read, for the readers of all APIs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

from baton.adapters.models.answers.parts import TooManyParts
from baton.adapters.models.answers.thinking_tags import SeparatedText, ThinkingTags
from baton.adapters.models.answers.written_calls import WrittenCalls
from baton.adapters.models.failures.failure import FailureKind, ProviderFailure
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.question import PreparedQuestion
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.text import count_bytes, cut_to_bytes
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    FinishReason,
    ModelChunk,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
)

FORBIDDEN_CALLS = "ForbiddenCalls"
"""The name of the failure of an answer that calls a tool although none may be called."""


class AnswerEvents(Protocol):
    """The events of an answer. Reading them may raise ``ProviderFailure`` and ``StreamTooLong``."""

    async def __anext__(self) -> Any: ...

    async def aclose(self) -> None:
        """Close the connection, which ends the answer."""


class AnswerSoFar(ABC):
    """An answer that arrives: its size, its end and its thinking. Subclasses read the events of one API."""

    def __init__(self, events: AnswerEvents, question: PreparedQuestion, sent: SentFeatures) -> None:
        self.reason: FinishReason | None = None
        """The reason for which the model stopped; None until it has."""
        self.is_cut = False
        """Whether the answer was cut at its length limit. The rest is not read."""
        self.sent = sent
        """The optional parts of the request."""
        self._events = events
        self._settings = question.settings
        self._profile = question.profile
        self._origin = question.origin
        self._tools = question.tools
        self._model = question.settings.model
        self._text_size = 0
        """Bytes of text and thinking."""
        self._has_text = False
        """Whether the answer has had words, even if they were taken back."""
        self._thought_first = False
        """Whether the answer began with thinking that no tag opened."""
        self._usage: Usage | None = None
        self._tags = ThinkingTags(thinks_first=question.profile.thinks_first)
        # An answer with a schema is JSON itself.
        self._written = WrittenCalls(question.tools, reads_bare=question.settings.answer_schema is None)

    @property
    @abstractmethod
    def _calls_size(self) -> int:
        """The bytes of the answer besides text and thinking."""

    @property
    def size(self) -> int:
        """Bytes of the model's output so far: text, calls and thinking."""
        return self._text_size + self._calls_size

    async def read_next(self) -> Sequence[ModelChunk] | None:
        """Return the chunks of the stream's next event; None at the end of the stream.

        An event that exceeds a limit cuts the answer. No chunk of it is returned if it has too many parts.

        Raises ``ProviderFailure``, ``ModelError`` and ``StreamTooLong``.
        """
        event = await anext(self._events, None)
        if event is None:
            return None
        try:
            chunks = self._take(event)
        except TooManyParts:
            self.cut()
            return ()
        if self.size > MAX_ANSWER_BYTES:
            self.cut()
        return chunks

    @abstractmethod
    def _take(self, event: Any) -> Sequence[ModelChunk]:
        """Take an event and return its chunks. Raises ``TooManyParts``, ``ProviderFailure`` and ``ModelError``."""

    def cut(self) -> None:
        """End the answer here, because it is too long."""
        self.is_cut, self.reason = True, FinishReason.LENGTH

    @abstractmethod
    def end(self) -> Sequence[ModelChunk]:
        """Return the tool calls and ``Finished``.

        Raises ``ProviderFailure`` for an answer that broke off or made only forbidden calls, ``ModelUnavailable`` for a
        call without a name, and ``ContextTooLong`` for an empty answer to a long question.
        """

    async def aclose(self) -> None:
        """Close the stream."""
        await self._events.aclose()

    def add_learned_facts(self, profile: ModelProfile) -> ModelProfile:
        """Return ``profile`` with the properties that this answer has shown of its model."""
        return replace(profile, thinks_first=profile.thinks_first or self._thought_first)

    def _cut_to_room(self, text: str) -> str:
        """Count ``text``, and return it cut to the remaining length of the answer."""
        room = MAX_ANSWER_BYTES - self.size
        fitting = cut_to_bytes(text, room)
        self._text_size += count_bytes(fitting)
        if len(fitting) < len(text) or room < 0:
            self.cut()
        return fitting

    def _as_chunks(self, separated: SeparatedText) -> list[ModelChunk]:
        """Return the chunks of text whose thinking was separated."""
        self._thought_first = self._thought_first or self._tags.closed_unopened
        chunks: list[ModelChunk] = []
        if separated.takes_back:
            self._forget_text()
            self._written.forget()
            chunks.append(TextTakenBack())
        chunks += self._to_reasoning(separated.thinking)
        return [*chunks, *self._take_text(self._written.take(separated.text))]

    def _end_text(self) -> tuple[list[ModelChunk], list[ToolCall]]:
        """Return the text that is still held back, and the calls that the answer's text holds. Call this at its end."""
        text, calls = self._written.end(cut=self.reason is FinishReason.LENGTH)
        return self._take_text(text), calls

    def _take_text(self, text: str) -> list[ModelChunk]:
        """Note text of the answer, and return its chunks; none for an empty text."""
        if not text:
            return []
        self._has_text = True
        return [TextDelta(self._add_text(text))]

    @abstractmethod
    def _forget_text(self) -> None:
        """Forget the text so far, because it was thinking."""

    def _add_text(self, text: str) -> str:
        """Note text of the answer, and return the form of it that clients get."""
        return text

    def _to_reasoning(self, thinking: str) -> list[ModelChunk]:
        return [ReasoningDelta(thinking)] if thinking and self._settings.shows_reasoning else []

    def _require_reason(self) -> FinishReason:
        """Return the reason for which the answer has ended. Raises ``ProviderFailure`` if it broke off."""
        if self.reason is None:
            raise ProviderFailure("BrokenOff", FailureKind.PROTOCOL, text="The answer broke off before its end.")
        return self.reason

    def _find_unsent(self, dropped: Collection[str]) -> tuple[str, ...]:
        """Return the names, sorted, of the settings in ``dropped`` that the agent has set, and that were not sent."""
        return tuple(name for name in sorted(dropped) if getattr(self._settings, name, None) is not None)

    def _refuse_calls(self) -> None:
        """Raise ``ProviderFailure`` if the model has tools, because it has called one although it may call none."""
        if self._tools.tools:
            raise ProviderFailure(FORBIDDEN_CALLS, FailureKind.PROTOCOL, text="The model called a tool again.")
