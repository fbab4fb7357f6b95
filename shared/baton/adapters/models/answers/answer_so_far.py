"""The part of an answer that has been read, for the readers of all APIs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from baton.adapters.models.answers.thinking_tags import Separated, ThinkingTags
from baton.adapters.models.answers.written_calls import WrittenCalls
from baton.adapters.models.learning import RequestForm, SentFeatures
from baton.adapters.models.learning.failure import FailureKind, ProviderFailure
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.text import first_bytes, utf8_size
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    FinishReason,
    ModelChunk,
    ModelSettings,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
)


class AnswerSoFar(ABC):
    """The size, the end and the thinking of an answer. Subclasses read the events of one API as ``OpenedAnswer``."""

    def __init__(
        self, settings: ModelSettings, profile: ModelProfile, origin: str, tools: ModelTools, sent: SentFeatures
    ) -> None:
        self.reason: FinishReason | None = None
        self.is_cut = False
        self.sent = sent
        self._settings = settings
        self._profile = profile
        self._origin = origin
        self._tools = tools
        self._model = settings.model
        self._heard = 0
        """Bytes of text and thinking."""
        self._has_text = False
        """True if the answer has words, even if they were taken back."""
        self._usage: Usage | None = None
        self._tags = ThinkingTags(thinks_first=profile.thinks_first)
        # An answer with a schema is JSON itself.
        self._written = WrittenCalls(tools, reads_bare=settings.answer_schema is None)

    @property
    @abstractmethod
    def _calls_size(self) -> int:
        """The bytes of the answer besides text and thinking."""

    @property
    def size(self) -> int:
        """See ``OpenedAnswer``."""
        return self._heard + self._calls_size

    def cut(self) -> None:
        """See ``OpenedAnswer``."""
        self.is_cut, self.reason = True, FinishReason.LENGTH

    @property
    def _thought_first(self) -> bool:
        """True if the answer began with thinking that no tag opened."""
        return self._tags.closed_unopened

    def learned(self, form: RequestForm) -> RequestForm:
        """See ``OpenedAnswer``."""
        if self._thought_first and not form.profile.thinks_first:
            return replace(form, profile=replace(form.profile, thinks_first=True))
        return form

    def _fitting(self, text: str) -> str:
        """Return ``text``, cut to the remaining length of the answer."""
        room = MAX_ANSWER_BYTES - self.size
        fitting = first_bytes(text, room)
        self._heard += utf8_size(fitting)
        if len(fitting) < len(text) or room < 0:
            self.cut()
        return fitting

    def _separated(self, separated: Separated) -> list[ModelChunk]:
        """Return what clients get of text in which tags were looked for."""
        chunks: list[ModelChunk] = []
        if separated.takes_back:
            self._forget_text()
            self._written.forget()
            chunks.append(TextTakenBack())
        chunks += self._shown_thinking(separated.thinking)
        return [*chunks, *self._said(self._written.take(separated.text))]

    def _end_text(self) -> tuple[list[ModelChunk], list[ToolCall]]:
        """Return the rest of the text, and the calls that were written in it, at the end of the answer."""
        text, calls = self._written.end(cut=self.reason is FinishReason.LENGTH)
        return self._said(text), calls

    def _said(self, text: str) -> list[ModelChunk]:
        if not text:
            return []
        self._has_text = True
        return [TextDelta(self._add_text(text))]

    @abstractmethod
    def _forget_text(self) -> None:
        """Forget what is known of the text so far: it was thinking."""

    @abstractmethod
    def _add_text(self, text: str) -> str:
        """Note text of the answer, and return it as clients get it."""

    def _shown_thinking(self, thinking: str) -> list[ModelChunk]:
        return [ReasoningDelta(thinking)] if thinking and self._settings.shows_reasoning else []

    def _found_reason(self) -> FinishReason:
        """Return why the answer has ended. Raises ``ProviderFailure`` if it has no end."""
        if self.reason is None:
            raise ProviderFailure("BrokenOff", FailureKind.PROTOCOL, text="The answer broke off before its end.")
        return self.reason

    def _refuse_calls(self, note_insisting: Callable[[ModelSettings], None]) -> None:
        """Raise ``ProviderFailure`` for calls instead of text where no tool may be called, if there are any tools.

        ``note_insisting`` takes the settings of the call.
        """
        if self._tools.tools:
            note_insisting(self._settings)
            raise ProviderFailure("ForbiddenCalls", FailureKind.PROTOCOL, text="The model called a tool again.")
