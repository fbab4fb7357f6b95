"""Read the stream of an answer of Chat Completions, in all the forms that endpoints send."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.models.answers.answer_so_far import AnswerSoFar
from baton.adapters.models.answers.parts import get_text
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.openai.answer_body import AnswerBody, AnswerValue
from baton.adapters.models.openai.errors import IN_STREAM, add_status
from baton.adapters.models.openai.replayed_fields import THINKING_FIELDS, ReplayedFields
from baton.adapters.models.openai.tool_calls import ToolCallFragments
from baton.adapters.models.question import PreparedQuestion
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelUnavailable
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage, parse_token_count
from baton.domain.text import count_bytes
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk

MAX_TOKEN_CHARACTERS = 8
"""An upper bound of the average number of characters in a token."""
MAX_REASON = 100
"""The maximum number of characters of a reason to stop that are read."""
OVERFLOW_CHARACTERS = 6_000
"""The characters of a request above which an empty answer means that it was too long. Some servers send no error."""

_REASONS = {
    "length": FinishReason.LENGTH,
    "max_length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}
# Gemini's have a prefix, as in ``content_filter: SAFETY``.
_FILTERED = re.compile(
    r"\b(content_?filter(ed)?|refusal|guardrail_intervened|safety|prohibited_content|blocklist|recitation|spii|sensitive)\b"
)
_NO_REASON = ("null", "none")
"""Missing reasons, in the words of endpoints that write every value as a text."""
_FAILED = re.compile(r"error\b|malformed_function_call|unexpected_tool_call|insufficient_system_resource|\babort")


class ChatAnswer(AnswerSoFar):
    """An answer of Chat Completions."""

    def __init__(self, body: AnswerBody, question: PreparedQuestion, sent: SentFeatures) -> None:
        super().__init__(body, question, sent)
        self._body = body
        self._is_whole = False
        """Whether the answer arrived as a complete message, which needs no reason to stop."""
        self._asked_characters = question.characters
        self._fragments = ToolCallFragments([tool.name for tool in question.tools.tools])
        self._fields = ReplayedFields(question.profile.replayed_fields)

    @property
    def _calls_size(self) -> int:
        return self._fragments.size

    def _forget_text(self) -> None:
        """Do nothing: this class stores no text, and an answer that had words still counts as one."""

    def end(self) -> Sequence[ModelChunk]:
        """See ``AnswerSoFar``."""
        chunks = self._as_chunks(self._tags.end())
        if self.size == 0 and self._asked_characters > OVERFLOW_CHARACTERS and not self._has_read_all:
            raise ContextTooLong.of_empty_answer()
        if self.reason is None and self._is_complete:
            self.reason = FinishReason.STOP
        reason = self._require_reason()
        rest, written = self._end_text()
        chunks += rest
        drafts = self._fragments.take(cut=reason is FinishReason.LENGTH)
        calls = [*(replace(call, name=self._tools.name_inside(call.name)) for call in drafts), *written]
        if self._settings.tool_choice == "none":
            if calls and not self._has_text:
                self._refuse_calls()
            calls = []
        if calls and reason is FinishReason.STOP:
            reason = FinishReason.TOOL_CALLS  # some endpoints end every answer with "stop"
        dropped = self._find_unsent(self._profile.dropped)
        finished = Finished(reason, self._model, self._usage, self._make_parts(calls), dropped)
        return [*chunks, *calls, finished]

    @property
    def _is_complete(self) -> bool:
        """Whether an answer without a reason to stop is complete, as its form, its calls or its server show."""
        if self._is_whole or not self._body.has_end_mark:
            return self._is_whole
        if self._fragments.are_whole:
            return True
        has_said = self._has_text or self._written.holds_call or self._fragments.size > 0
        return self._profile.ends_without_reason and has_said

    @property
    def _has_read_all(self) -> bool:
        """Whether the answer has ended, and its token counts show that the model has read the whole prompt."""
        counted = self._usage.input_tokens if self._usage is not None else 0
        return self.reason is not None and counted * MAX_TOKEN_CHARACTERS >= self._asked_characters

    def _make_parts(self, calls: Sequence[ToolCall]) -> ProviderParts | None:
        """Return the fields of the message and of its calls that later requests send back; None if there are none."""
        fields = self._fields.replayed
        parts: list[dict[str, Any]] = [{"fields": fields}] if fields else []
        of_calls = [
            {"call": index, "fields": extra}
            for index, extra in enumerate(self._fragments.fields[: len(calls)])
            if extra
        ]
        replay = Replay.ALWAYS if of_calls else self._profile.replay
        return ProviderParts.of(self._origin, replay, [*parts, *of_calls], self._fields.withheld)

    def _take(self, event: AnswerValue) -> Sequence[ModelChunk]:
        # The event is not validated yet, so it may have any shape.
        fields = event.value
        if not isinstance(fields, dict):
            raise ProviderFailure.of(fields, IN_STREAM)
        self._model = get_text(fields.get("model")) or self._model
        text = read_text_alone(fields)
        if text is not None:
            return self._as_chunks(self._tags.take(self._cut_to_room(text)))
        if is_error(fields):
            raise add_status(ProviderFailure.of(fields, IN_STREAM))
        self._take_usage(fields.get("usage"))
        choice = select_first_choice(fields.get("choices"))
        if choice is None:
            return ()
        delta, reason = choice.get("delta"), choice.get("finish_reason")
        if delta is None and isinstance(choice.get("message"), dict):
            delta = choice["message"]
            self._is_whole = not event.is_streamed or fields.get("object") != "chat.completion.chunk"
        if not isinstance(delta, dict | None):
            raise ModelUnavailable
        delta = with_calls(delta or {})
        texts, thinking = separate_thinking(delta)
        try:
            self._fragments.add(delta.get("tool_calls"))
        except TypeError:
            raise ModelUnavailable from None
        ending = str(reason)[:MAX_REASON].lower() if reason else ""
        if ending in _NO_REASON:
            ending = ""
        if delta.get("refusal") or _FILTERED.search(ending):
            raise ContentFiltered
        if _FAILED.search(ending):
            error = choice.get("error")  # which gateways put beside the reason to stop
            status = ProviderFailure.of(error, IN_STREAM).status if error else 502
            raise ProviderFailure(ending, status=status, text="The endpoint ended with an error.")
        if ending:
            self.reason = _REASONS.get(ending, FinishReason.STOP)
        self._text_size += self._fields.take(delta)
        chunks: list[ModelChunk] = []
        for thought in thinking:
            self._text_size += count_bytes(thought)
            chunks += self._to_reasoning(thought)
        for text in texts:
            chunks += self._as_chunks(self._tags.take(self._cut_to_room(text)))
        return chunks

    def _take_usage(self, usage: object) -> None:
        """Take token counts, if they are complete."""
        # Some endpoints send cumulative counts with every chunk, so the last ones are the totals.
        sent, answered = _read_count(usage, "prompt_tokens"), _read_count(usage, "completion_tokens")
        if isinstance(usage, dict) and sent is not None and answered is not None:
            details, written = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
            cached = _read_count(details, "cached_tokens") or _read_count(usage, "prompt_cache_hit_tokens") or 0
            self._usage = Usage(
                sent,
                answered,
                min(sent, cached),
                _read_count(details, "cache_write_tokens") or _read_count(usage, "cache_creation_input_tokens") or 0,
                _read_count(written, "reasoning_tokens") or 0,
            )


def _read_count(holder: object, name: str) -> int | None:
    return parse_token_count(holder.get(name)) if isinstance(holder, dict) else None


_WITH_TEXT = frozenset({"content", "role"})
_MESSAGES = ("delta", "message")
_SHOWN_FIELDS = (*THINKING_FIELDS, "reasoning_text", "thinking", "thought", "reasoning_details", "thinking_blocks")
"""Fields of a delta with thinking. Some endpoints send the same text in several fields, so only the first is read."""
_THOUGHTS = ("thinking", "text", "content", "summary")
"""The members of an entry in such a field that hold thinking."""
_NESTING = 4
"""The maximum depth of entries within entries that is read."""


def read_text_alone(chunk: dict[str, Any]) -> str | None:
    """Return the text of a chunk that has no other content; None for other chunks. This is called for each token."""
    choices = chunk.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or chunk.get("usage"):
        return None
    choice = choices[0]
    if not isinstance(choice, dict) or choice.get("finish_reason") or "message" in choice:
        return None
    delta = choice.get("delta")
    if not isinstance(delta, dict) or any(value for name, value in delta.items() if name not in _WITH_TEXT):
        return None
    text = delta.get("content")
    return text if isinstance(text, str) and text else None


def is_error(fields: Mapping[str, Any]) -> bool:
    """Return whether a value is an error: by its member, or because it has the members of errors and no choices."""
    if fields.get("error"):
        return True
    if "choices" in fields or "usage" in fields:
        return False
    return fields.get("object") == "error" or any(fields.get(name) for name in ("message", "detail", "code"))


def select_first_choice(choices: object) -> dict[str, Any] | None:
    """Return the choice to read; None if there is none. Requests ask for one choice only."""
    filled = [
        choice
        for choice in (choices if isinstance(choices, list) else [choices])
        if isinstance(choice, dict) and choice
    ]
    first = next((choice for choice in filled if choice.get("index") in (None, 0, "0")), filled[0] if filled else None)
    if first is None or any(name in first for name in _MESSAGES) or not isinstance(first.get("text"), str):
        return first
    return {**first, "delta": {"content": first["text"]}}  # as in plain completions


def with_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a delta whose calls are a list. Some endpoints send a single call, or use the field's former name."""
    calls, former = message.get("tool_calls"), message.get("function_call")
    if not calls and isinstance(former, dict):
        calls = {"index": 0, "function": former}
    return {**message, "tool_calls": [calls]} if isinstance(calls, dict) else message


def separate_thinking(delta: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the texts and the thinking of a delta, whose content some endpoints send as a list of parts.

    Raises ``ContentFiltered`` for a part that refuses.
    """
    thinking: list[str] = next(
        (thoughts for name in _SHOWN_FIELDS if (thoughts := _list_thoughts(delta.get(name)))), []
    )
    texts: list[str] = []
    content = delta.get("content")
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "refusal":
            raise ContentFiltered
        if kind in ("thinking", "reasoning"):
            thinking = [*thinking, *_list_thoughts(part)]
        else:
            texts.append(_read_text(part))
    return [text for text in texts if text], thinking


def _read_text(part: object) -> str:
    """Return the text of a part, which some endpoints put into an object, or send as a number."""
    for name in ("text", "value"):
        part = part.get(name) if isinstance(part, dict) else part
    if isinstance(part, int | float) and not isinstance(part, bool):
        return str(part)
    return part if isinstance(part, str) else ""


def _list_thoughts(value: object, depth: int = 0) -> list[str]:
    """Return the thinking in a text, in an entry's first member of ``_THOUGHTS``, or in a list of texts and entries."""
    if isinstance(value, str):
        return [value] if value else []
    if depth > _NESTING:
        return []
    if isinstance(value, dict):
        return next((thoughts for name in _THOUGHTS if (thoughts := _list_thoughts(value.get(name), depth + 1))), [])
    return [text for entry in value for text in _list_thoughts(entry, depth + 1)] if isinstance(value, list) else []
