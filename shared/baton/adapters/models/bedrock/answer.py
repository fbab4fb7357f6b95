"""Read the answer of Converse or ConverseStream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.adapters.models.answers.answer_so_far import AnswerSoFar
from baton.adapters.models.answers.parts import get_mapping, get_text
from baton.adapters.models.answers.thinking_tags import ThinkingTags
from baton.adapters.models.bedrock.blocks import AnswerBlocks
from baton.adapters.models.bedrock.event_stream import StreamEvent
from baton.adapters.models.bedrock.events import Events
from baton.adapters.models.bedrock.request import ConverseRequest
from baton.adapters.models.failures.failure import FailureKind, ProviderFailure
from baton.adapters.models.question import PreparedQuestion
from baton.domain.errors import ContentFiltered, ContextTooLong
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.usage import Usage, parse_token_count
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk

_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
}
_FILTERED = ("guardrail_intervened", "content_filtered", "refusal")
_MALFORMED = ("malformed_model_output", "malformed_tool_use")


class ConverseAnswer(AnswerSoFar):
    """An answer of Converse."""

    def __init__(self, events: Events, question: PreparedQuestion, request: ConverseRequest) -> None:
        super().__init__(events, question, request.sent)
        self._dropped = request.dropped
        self._blocks = AnswerBlocks()
        self._tagged = -1
        """The index of the block whose text is searched for tags; -1 for none."""
        self._text_block = 0
        """The index of the newest block with text."""
        self._held: list[ModelChunk] = []
        """With a guardrail, the newest chunks, which ``_take`` holds back until the next ones.

        A guardrail may have put them in place of the answer, which only the stream's end shows.
        """
        self._has_guardrail = "guardrailConfig" in request.body

    @property
    def _calls_size(self) -> int:
        return self._blocks.size

    def end(self) -> Sequence[ModelChunk]:
        """See ``AnswerSoFar``."""
        chunks = [*self._held, *self._end_block()]
        reason = self._require_reason()
        rest, written = self._end_text()
        chunks += rest
        calls = [*self._blocks.make_calls(self._tools, cut=reason is FinishReason.LENGTH), *written]
        if self._settings.tool_choice == "none" or not self._tools.tools:
            if calls and not self._has_text:
                self._refuse_calls()
            calls = []
        if reason is not FinishReason.LENGTH:
            reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
        parts = ProviderParts.of(
            self._origin, self._profile.replay, self._blocks.make_parts(self._profile, with_calls=bool(calls))
        )
        finished = Finished(reason, self._model, self._usage, parts, self._dropped)
        return [*chunks, *calls, finished]

    def _take(self, event: StreamEvent) -> list[ModelChunk]:
        chunks = self._read(event)
        if not self._has_guardrail or not chunks:
            return chunks
        released, self._held = self._held, chunks
        return released

    def _read(self, event: StreamEvent) -> list[ModelChunk]:
        """Return the chunks of an event. Raises ``TooManyParts``, and the errors of the answer's end."""
        fields = event.fields
        match event.name:
            case "contentBlockStart":
                call = get_mapping(fields.get("start")).get("toolUse")
                if isinstance(call, Mapping):
                    self._blocks.begin_call(_read_index(fields), call)
            case "contentBlockDelta" if isinstance(fields.get("delta"), Mapping):
                return self._take_delta(_read_index(fields), fields["delta"])
            case "contentBlockStop" if _read_index(fields) == self._tagged:
                return self._end_block()
            case "messageStop":
                self._stop(fields.get("stopReason"))
            case "metadata":
                self._usage = _read_usage(fields.get("usage")) or self._usage
        return []  # padding, the beginning of a message, and events that are not known yet

    def _take_delta(self, index: int, delta: Mapping[str, Any]) -> list[ModelChunk]:
        """Take a piece of the block at ``index``, and return its chunks. Raises ``TooManyParts``."""
        text, call, reasoning = delta.get("text"), delta.get("toolUse"), delta.get("reasoningContent")
        if isinstance(call, Mapping):
            self._blocks.add_arguments(index, call.get("input"))
        thinking: list[ModelChunk] = []
        if isinstance(reasoning, Mapping):
            thinking = self._to_reasoning(self._blocks.add_reasoning(index, reasoning))
        if isinstance(text, str):
            chunks = self._end_block() if index != self._tagged else []
            self._tagged = self._text_block = index
            return [*thinking, *chunks, *self._as_chunks(self._tags.take(self._cut_to_room(text)))]
        return thinking

    def _end_block(self) -> list[ModelChunk]:
        """Return the rest of a block of text. Tags do not span blocks."""
        chunks = self._as_chunks(self._tags.end()) if self._tagged >= 0 else []
        self._tags, self._tagged = ThinkingTags(), -1
        return chunks

    def _forget_text(self) -> None:
        self._blocks.forget_text()

    def _add_text(self, text: str) -> str:
        self._blocks.note_text(self._text_block, len(text))
        return text

    def _stop(self, value: object) -> None:
        """Note why the model stopped. Raises ``ContentFiltered``, ``ContextTooLong`` and ``ProviderFailure``."""
        reason = get_text(value)
        if reason in _FILTERED:
            raise ContentFiltered
        if reason in _MALFORMED:
            raise ProviderFailure(reason, FailureKind.PROTOCOL, text="The model's answer cannot be read.")
        if reason == "model_context_window_exceeded" and not self.size:
            raise ContextTooLong
        self.reason = _REASONS.get(reason, FinishReason.STOP)


def _read_index(fields: Mapping[str, Any]) -> int:
    """Return the index of an event's block; 0 if it is missing or invalid."""
    index = fields.get("contentBlockIndex")
    return index if isinstance(index, int) and index >= 0 else 0


def _read_usage(reported: object) -> Usage | None:
    """Return the token counts; None without a report. The service's input tokens leave out the cached tokens."""
    if not isinstance(reported, Mapping):
        return None
    sent, answered = _read_count(reported, "inputTokens"), _read_count(reported, "outputTokens")
    read, written = _read_count(reported, "cacheReadInputTokens"), _read_count(reported, "cacheWriteInputTokens")
    return Usage(sent + read + written, answered, read, written)


def _read_count(reported: Mapping[str, Any], name: str) -> int:
    return parse_token_count(reported.get(name)) or 0
