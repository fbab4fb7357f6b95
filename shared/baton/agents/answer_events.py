"""The events of an answer that a model is writing: its text, its visible thinking, and text that it takes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ag_ui.core import BaseEvent

from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.text import slices
from baton.domain.threads.events import (
    MAX_DELTA_CHARS,
    reasoning_content,
    reasoning_end,
    reasoning_start,
    text_content,
    text_end,
    text_start,
)
from baton.ports.agents.chat_model import ReasoningDelta, TextDelta, TextTakenBack


class AnswerEvents:
    """The events of one model call, made of its chunks, and the text so far."""

    def __init__(
        self,
        agent: AgentDefinition,
        transcript: Transcript,
        prefix: Callable[[], str],
        *,
        message_id: str | None = None,
        holds_text: bool = False,
    ) -> None:
        """``prefix`` returns Baton's own text in front of the next words.

        ``message_id`` is an id that was taken and not used. With ``holds_text`` no text is shown before ``show``.
        """
        self._agent = agent
        self._transcript = transcript
        self._prefix = prefix
        self._is_open = False
        self._thinking_id: str | None = None
        self._holds_text = holds_text
        self.message_id = message_id or transcript.new_id()
        self.text = ""
        """The text that the user was shown."""
        self.model_text = ""
        """The text that the model gave."""

    def of(self, chunk: TextDelta | ReasoningDelta | TextTakenBack) -> Iterable[BaseEvent]:
        """Yield the events of a chunk."""
        if isinstance(chunk, ReasoningDelta):
            if self._thinking_id is None:
                self._thinking_id = self._transcript.new_reasoning_id()
                yield from reasoning_start(self._thinking_id, self._agent)
            yield from reasoning_content(self._thinking_id, chunk.text)
            return
        yield from self._thinking_ends()
        if isinstance(chunk, TextTakenBack):
            if self._is_open:
                yield text_end(self.message_id, is_taken_back=True)
                self._is_open, self.message_id = False, self._transcript.new_id()
            self.text = self.model_text = ""
            return
        self.model_text += chunk.text
        if self._holds_text:
            return
        if not self._is_open:
            self._is_open = True
            yield text_start(self.message_id, self._agent)
        text = self._prefix() + chunk.text
        self.text += text
        yield text_content(self.message_id, text)

    def show(self, text: str, *, is_structured: bool) -> Iterable[BaseEvent]:
        """Yield the events of a text that was held back, without its end."""
        if not text:
            return
        yield from self._thinking_ends()
        self._is_open, self.text = True, text
        yield text_start(self.message_id, self._agent, is_structured=is_structured)
        for start, end in slices(text, MAX_DELTA_CHARS):
            yield text_content(self.message_id, text[start:end])

    def refuse(self, sentence: str, by: str) -> Iterable[BaseEvent]:
        """Yield the events of a ``sentence`` in place of the answer, without its end. ``by`` has refused the answer."""
        yield from self._thinking_ends()
        if self._is_open:
            yield text_end(self.message_id, is_taken_back=True)
            self.message_id = self._transcript.new_id()
        self._is_open, self.text = True, sentence
        yield text_start(self.message_id, self._agent, refused_by=by)
        yield text_content(self.message_id, sentence)

    def end(self, sources: Iterable[Mapping[str, object]], *, is_cut: bool) -> Iterable[BaseEvent]:
        """Yield the events that end the answer."""
        yield from self._thinking_ends()
        if self._is_open:
            yield text_end(self.message_id, [dict(source) for source in sources], is_cut=is_cut)

    def _thinking_ends(self) -> Iterable[BaseEvent]:
        if self._thinking_id is not None:
            yield from reasoning_end(self._thinking_id)
            self._thinking_id = None
