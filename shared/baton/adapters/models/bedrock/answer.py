"""Read the answer of Converse or ConverseStream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2 as httpx

from baton.adapters.models.answers.answer_so_far import AnswerSoFar
from baton.adapters.models.answers.thinking_tags import ThinkingTags
from baton.adapters.models.bedrock.blocks import AnswerBlocks, TooManyBlocks
from baton.adapters.models.bedrock.event_stream import BrokenStream, NoEventStream, StreamEvent
from baton.adapters.models.bedrock.events import Events
from baton.adapters.models.bedrock.failures import answered_failure, broken_failure, streamed_failure
from baton.adapters.models.bedrock.request import ConverseRequest
from baton.adapters.models.learning.failure import FailureKind, ProviderFailure
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.errors import ContentFiltered, ContextTooLong
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.usage import Usage, token_count
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, Finished, FinishReason, ModelChunk, ModelSettings

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
    """``OpenedAnswer`` of Converse."""

    def __init__(
        self,
        events: Events,
        request: ConverseRequest,
        settings: ModelSettings,
        profile: ModelProfile,
        origin: str,
        tools: ModelTools,
        note_insisting: Callable[[ModelSettings], None],
    ) -> None:
        """``note_insisting`` takes the settings of a model that calls tools, silently, where it may call none."""
        super().__init__(settings, profile, origin, tools, request.sent)
        self._events = events
        self._request = request
        self._note_insisting = note_insisting
        self._blocks = AnswerBlocks()
        self._tagged = -1
        """The block whose text the tags are looked for in."""
        self._text_block = 0
        """The newest block with text."""
        self._thinks_first = False
        self._held: list[ModelChunk] = []
        """Text that a guardrail may have put in the place of the answer; only the end of the stream says so."""
        self._holds = "guardrailConfig" in request.body

    @property
    def _calls_size(self) -> int:
        return self._blocks.size

    @property
    def _thought_first(self) -> bool:
        return self._thinks_first

    async def next(self) -> Sequence[ModelChunk] | None:
        """See ``OpenedAnswer``."""
        try:
            event = await anext(self._events, None)
        except NoEventStream as other:
            raise answered_failure(200, {}, other.body) from None
        except (httpx.HTTPError, BrokenStream) as error:
            raise broken_failure(error) from None
        if event is None:
            return None
        if event.is_exception:
            raise streamed_failure(event)
        try:
            chunks = self._take(event)
        except TooManyBlocks:
            self.cut()
            return ()
        if self.size > MAX_ANSWER_BYTES:
            self.cut()
        return self._release(chunks) if self._holds else chunks

    async def aclose(self) -> None:
        """See ``OpenedAnswer``."""
        await self._events.aclose()

    def end(self) -> Sequence[ModelChunk]:
        """See ``OpenedAnswer``."""
        chunks = [*self._held, *self._end_of_text()]
        reason = self._found_reason()
        rest, written = self._end_text()
        chunks += rest
        calls = [*self._blocks.calls(self._tools, cut=reason is FinishReason.LENGTH), *written]
        if self._settings.tool_choice == "none" or not self._tools.tools:
            if calls and not self._has_text:
                self._refuse_calls(self._note_insisting)
            calls = []
        if reason is not FinishReason.LENGTH:
            reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
        parts = ProviderParts.of(
            self._origin, self._profile.replay, self._blocks.parts(self._profile, with_calls=bool(calls))
        )
        finished = Finished(reason, self._model, self._usage, parts, self._request.dropped)
        return [*chunks, *calls, finished]

    def _take(self, event: StreamEvent) -> list[ModelChunk]:
        """Return what an event holds. Raises ``TooManyBlocks``, and the errors of the answer's end."""
        fields = event.fields
        match event.name:
            case "contentBlockStart":
                start = fields.get("start")
                call = start.get("toolUse") if isinstance(start, Mapping) else None
                if isinstance(call, Mapping):
                    self._blocks.begin_call(_index(fields), call)
            case "contentBlockDelta" if isinstance(fields.get("delta"), Mapping):
                return self._take_delta(_index(fields), fields["delta"])
            case "contentBlockStop" if _index(fields) == self._tagged:
                return self._end_of_text()
            case "messageStop":
                self._stop(fields.get("stopReason"))
            case "metadata":
                self._usage = _usage(fields.get("usage")) or self._usage
        return []  # padding, the beginning of a message, and events that are not known yet

    def _take_delta(self, index: int, delta: Mapping[str, Any]) -> list[ModelChunk]:
        text, call, reasoning = delta.get("text"), delta.get("toolUse"), delta.get("reasoningContent")
        if isinstance(call, Mapping):
            self._blocks.add_arguments(index, call.get("input"))
        thinking: list[ModelChunk] = []
        if isinstance(reasoning, Mapping):
            thinking = self._shown_thinking(self._blocks.add_reasoning(index, reasoning))
        if isinstance(text, str):
            chunks = self._end_of_text() if index != self._tagged else []
            self._tagged = self._text_block = index
            return [*thinking, *chunks, *self._separated(self._tags.take(self._fitting(text)))]
        return thinking

    def _end_of_text(self) -> list[ModelChunk]:
        """Return what is left of a block of text. Tags do not span blocks."""
        chunks = self._separated(self._tags.end()) if self._tagged >= 0 else []
        self._thinks_first = self._thinks_first or self._tags.closed_unopened
        self._tags, self._tagged = ThinkingTags(), -1
        return chunks

    def _forget_text(self) -> None:
        self._blocks.forget_text()

    def _add_text(self, text: str) -> str:
        self._blocks.note_text(self._text_block, len(text))
        return text

    def _stop(self, value: object) -> None:
        """Note why the model stopped. Raises ``ContentFiltered``, ``ContextTooLong`` and ``ProviderFailure``."""
        reason = value if isinstance(value, str) else ""
        if reason in _FILTERED:
            raise ContentFiltered
        if reason in _MALFORMED:
            raise ProviderFailure(reason, FailureKind.PROTOCOL, text="The model's answer cannot be read.")
        if reason == "model_context_window_exceeded" and not self.size:
            raise ContextTooLong
        self.reason = _REASONS.get(reason, FinishReason.STOP)

    def _release(self, chunks: list[ModelChunk]) -> list[ModelChunk]:
        """Return the chunks that came before these: the last ones may be a guardrail's message."""
        if not chunks:
            return []
        released, self._held = self._held, chunks
        return released


def _index(fields: Mapping[str, Any]) -> int:
    index = fields.get("contentBlockIndex")
    return index if isinstance(index, int) and index >= 0 else 0


def _usage(reported: object) -> Usage | None:
    """Return the tokens; those of the cache are not part of what the service calls input."""
    if not isinstance(reported, Mapping):
        return None
    sent, answered = _count(reported, "inputTokens"), _count(reported, "outputTokens")
    read, written = _count(reported, "cacheReadInputTokens"), _count(reported, "cacheWriteInputTokens")
    return Usage(sent + read + written, answered, read, written)


def _count(reported: Mapping[str, Any], name: str) -> int:
    return token_count(reported.get(name)) or 0
