"""Read the stream of an answer of the Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.models.answers.answer_so_far import AnswerSoFar
from baton.adapters.models.answers.parts import get_mapping, get_text
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.openai.answer_body import AnswerBody, AnswerValue
from baton.adapters.models.openai.chat_answer import OVERFLOW_CHARACTERS, is_error
from baton.adapters.models.openai.errors import IN_STREAM, add_status, read_streamed_failure
from baton.adapters.models.openai.response_items import ItemKind, OutputItem, OutputItems
from baton.adapters.models.question import PreparedQuestion
from baton.domain.errors import ContentFiltered, ContextTooLong
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.usage import Usage, parse_token_count
from baton.domain.text import count_bytes
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk

BETWEEN_MESSAGES = "\n\n"
"""The text between two messages of one answer, which are one text for users."""
_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.failed": "failed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
}
"""The events that end an answer, and the status of an event that names none itself."""


class ResponsesAnswer(AnswerSoFar):
    """An answer of the Responses API. Its events are JSON objects that are not validated."""

    def __init__(self, body: AnswerBody, question: PreparedQuestion, sent: SentFeatures) -> None:
        super().__init__(body, question, sent)
        self._asked_characters = question.characters
        self._items = OutputItems()
        self._message: OutputItem | None = None
        """The message whose text is read."""

    @property
    def _calls_size(self) -> int:
        return self._items.size

    def end(self) -> Sequence[ModelChunk]:
        """See ``AnswerSoFar``."""
        separated = self._tags.end()
        messages = [item for item in self._items.all if item.kind is ItemKind.MESSAGE]
        self._message = messages[-1] if messages else None
        chunks = self._as_chunks(separated) if messages else []
        rest, written = self._end_text() if messages else ([], [])
        chunks += rest
        if self.reason is FinishReason.STOP and not self._items.all and self._asked_characters > OVERFLOW_CHARACTERS:
            raise ContextTooLong.of_empty_answer()
        reason = self._require_reason()
        item_calls = self._items.make_tool_calls(cut=reason is FinishReason.LENGTH)
        calls = [(item, replace(call, name=self._tools.name_inside(call.name))) for item, call in item_calls]
        if self._settings.tool_choice == "none":
            if (calls or written) and not self._has_text:
                self._refuse_calls()
            calls, written = [], []
        if (calls or written) and reason is FinishReason.STOP:
            reason = FinishReason.TOOL_CALLS
        parts = ProviderParts.of(self._origin, self._profile.replay, self._make_parts([item for item, _ in calls]))
        dropped = self._profile.dropped | ({"reasoning_effort"} if "reasoning" in self._profile.dropped else set())
        finished = Finished(reason, self._model, self._usage, parts, self._find_unsent(dropped))
        return [*chunks, *(call for _, call in calls), *written, finished]

    def _take(self, answer_value: AnswerValue) -> Sequence[ModelChunk]:
        event = answer_value.value
        if not isinstance(event, dict):
            raise add_status(ProviderFailure.of(event, IN_STREAM))
        kind = str(event.get("type") or answer_value.name)
        match kind:
            case "response.output_text.delta":
                return self._take_text_of(self._items.of(event, ItemKind.MESSAGE), event.get("delta"))
            case "response.output_text.done" if isinstance(text := event.get("text"), str):
                item = self._items.of(event, ItemKind.MESSAGE)
                return [] if item.arrived_length else self._take_text_of(item, text)
            case "response.output_item.added":
                self._items.begin_item(event)
            case "response.output_item.done":
                return self._end_item(event)
            case "response.function_call_arguments.delta":
                self._items.add_arguments(self._items.of(event, ItemKind.CALL), event.get("delta"))
            case "response.function_call_arguments.done":
                call = self._items.of(event, ItemKind.CALL)
                call.name = call.name or str(event.get("name") or "")
                self._items.replace_arguments(call, event.get("arguments"))
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                return self._take_thought(self._items.of(event, ItemKind.REASONING), "\n\n", is_summary=True)
            case "response.reasoning_summary_text.delta":
                return self._take_thought(
                    self._items.of(event, ItemKind.REASONING), event.get("delta"), is_summary=True
                )
            case "response.reasoning_text.delta":
                return self._take_thought(
                    self._items.of(event, ItemKind.REASONING), event.get("delta"), is_summary=False
                )
            case "response.refusal.delta" | "response.refusal.done":
                raise ContentFiltered
            case "error":
                raise read_streamed_failure(event)
            case _ if kind in _ENDS:
                return self._finish(_ENDS[kind], get_mapping(event.get("response")))
            case _ if "output" in event:  # a whole answer
                return self._finish("completed", event)
            case _ if event.get("error") or (not kind and is_error(event)):
                raise read_streamed_failure(event)
        return ()

    def _take_text_of(self, item: OutputItem, text: object) -> list[ModelChunk]:
        """Take a piece of a message's text, and return its chunks; none for another value than text."""
        if not isinstance(text, str) or not text:
            return []
        item.arrived_length += len(text)
        self._message = item
        return self._as_chunks(self._tags.take(self._cut_to_room(text)))

    def _forget_text(self) -> None:
        for output_item in self._items.all:
            output_item.length = output_item.gap = 0

    def _add_text(self, text: str) -> str:
        item = self._message
        assert item is not None  # noqa: S101 - only messages have texts
        if not item.length and any(output_item.length for output_item in self._items.all):
            item.gap = len(BETWEEN_MESSAGES)
        text = f"{BETWEEN_MESSAGES if item.gap and not item.length else ''}{text}"
        item.length += len(text)
        return text

    def _take_thought(self, item: OutputItem, text: object, *, is_summary: bool) -> list[ModelChunk]:
        """Return the thinking to show: its summary, or its own words if there is no summary."""
        if not isinstance(text, str) or not text or (item.has_summary and not is_summary):
            return []
        item.has_summary = is_summary
        self._text_size += count_bytes(text)
        return self._to_reasoning(text)

    def _end_item(self, event: Mapping[str, Any]) -> list[ModelChunk]:
        """Take a complete item, and return the text that earlier events have left out."""
        item, whole = self._items.end_item(event), get_mapping(event.get("item"))
        if item is None:
            return []
        if item.kind is ItemKind.CALL:
            self._items.replace_arguments(item, whole.get("arguments"))
        elif item.kind is ItemKind.REASONING:
            # Only here is the encrypted content complete.
            item.whole = {name: value for name, value in whole.items() if value is not None}
        else:
            return self._take_text_of(item, _read_message_text(whole)[item.arrived_length :])
        return []

    def _finish(self, status: str, response: Mapping[str, Any]) -> list[ModelChunk]:
        """Take the event that ends the answer, and return the text that earlier events have left out.

        ``status`` counts if the response has none. Raises ``ProviderFailure`` and ``ContentFiltered``.
        """
        response_status = response.get("status")
        status = response_status if response_status in ("completed", "failed", "incomplete", "cancelled") else status
        if status in ("failed", "cancelled"):
            error = response.get("error")
            text = error if isinstance(error, str) and error else f"The response is {status}."
            raise read_streamed_failure(error if isinstance(error, Mapping) and error else {"message": text})
        self._model = get_text(response.get("model")) or self._model
        self._usage = _read_usage(get_mapping(response.get("usage")))
        chunks = self._take_left_out(response.get("output"))
        if status == "completed":
            self.reason = self.reason or FinishReason.STOP
            return chunks
        if get_mapping(response.get("incomplete_details")).get("reason") == "content_filter":
            raise ContentFiltered
        self.reason = FinishReason.LENGTH
        return chunks

    def _take_left_out(self, output: object) -> list[ModelChunk]:
        """Take the calls and return the text of a complete answer that no earlier events had."""
        has_text, has_calls = any(item.arrived_length for item in self._items.all), bool(self._items.calls)
        chunks: list[ModelChunk] = []
        for whole in output if isinstance(output, list) else ():
            kind = whole.get("type") if isinstance(whole, dict) else None
            if (kind == ItemKind.MESSAGE and not has_text) or (kind == ItemKind.CALL and not has_calls):
                chunks += self._end_item({"item": whole})
        return chunks

    def _make_parts(self, calls: Sequence[OutputItem]) -> list[dict[str, Any]]:
        """Return the items that later requests send back to the model, with all reasoning or without any."""
        items = self._items.all
        reasoning = [item.whole or {} for item in items if item.kind is ItemKind.REASONING]
        is_complete = self.reason is not FinishReason.LENGTH and len(calls) == len(self._items.calls)
        keeps_reasoning = is_complete and all(
            value.get("encrypted_content") or value.get("content") for value in reasoning
        )
        parts: list[dict[str, Any]] = []
        for item in items:
            if item.kind is ItemKind.REASONING:
                parts += [{"item": item.whole}] if keeps_reasoning else []
                continue
            named: dict[str, Any] = {"id": item.id} if keeps_reasoning and reasoning and item.id else {}
            if item.kind is ItemKind.MESSAGE and item.length:
                further = {"gap": item.gap, "phase": item.phase}
                parts.append(
                    {"text": item.length, **named, **{name: value for name, value in further.items() if value}}
                )
            elif item in calls:
                parts.append({"call": calls.index(item), **named})
        return parts


def _read_message_text(whole: Mapping[str, Any]) -> str:
    """Return the text of a complete message. Raises ``ContentFiltered`` if it holds a refusal."""
    content = whole.get("content")
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    if any(part.get("type") == "refusal" for part in parts):
        raise ContentFiltered
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _read_usage(counts: Mapping[str, Any]) -> Usage | None:
    sent, answered = parse_token_count(counts.get("input_tokens")), parse_token_count(counts.get("output_tokens"))
    if sent is None or answered is None:
        return None
    read, written = get_mapping(counts.get("input_tokens_details")), get_mapping(counts.get("output_tokens_details"))
    return Usage(
        sent,
        answered,
        min(sent, parse_token_count(read.get("cached_tokens")) or 0),
        parse_token_count(read.get("cache_write_tokens")) or 0,
        parse_token_count(written.get("reasoning_tokens")) or 0,
    )
