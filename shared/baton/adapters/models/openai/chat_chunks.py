"""Read the chunks of Chat Completions in all the forms that endpoints send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton.adapters.models.openai.replayed_fields import THINKING_FIELDS
from baton.domain.errors import ContentFiltered

_WITH_TEXT = frozenset({"content", "role"})
_MESSAGES = ("delta", "message")
_SHOWN_FIELDS = (*THINKING_FIELDS, "reasoning_text", "thinking", "thought", "reasoning_details", "thinking_blocks")
"""Fields of a delta with thinking. Some endpoints send the same under several names, so the first one counts."""
_THOUGHTS = ("thinking", "text", "content", "summary")
"""Members with thinking of an entry of such a field."""
_NESTING = 4


def text_alone(chunk: dict[str, Any]) -> str | None:
    """Return the text of a chunk that has nothing else to be read, as nearly all have; None for others.

    It is looked at for each token.
    """
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


def first_choice(choices: object) -> dict[str, Any] | None:
    """Return the choice that is read; None if there is none. No more than one is asked for."""
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
    """Return a delta whose calls are a list. A single one may be there by itself, or under its former name."""
    calls, former = message.get("tool_calls"), message.get("function_call")
    if not calls and isinstance(former, dict):
        calls = {"index": 0, "function": former}
    return {**message, "tool_calls": [calls]} if isinstance(calls, dict) else message


def texts_and_thinking(delta: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the texts and the thinking of a delta, whose content some endpoints send as a list of parts.

    Raises ``ContentFiltered`` for a part that refuses.
    """
    thinking: list[str] = next((thoughts for name in _SHOWN_FIELDS if (thoughts := _thoughts(delta.get(name)))), [])
    texts: list[str] = []
    content = delta.get("content")
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "refusal":
            raise ContentFiltered
        if kind in ("thinking", "reasoning"):
            thinking = [*thinking, *_thoughts(part)]
        else:
            texts.append(_text(part))
    return [text for text in texts if text], thinking


def _text(part: object) -> str:
    """Return the text of a part, which some endpoints put into an object, or send as a number."""
    for name in ("text", "value"):
        part = part.get(name) if isinstance(part, dict) else part
    if isinstance(part, int | float) and not isinstance(part, bool):
        return str(part)
    return part if isinstance(part, str) else ""


def _thoughts(value: object, depth: int = 0) -> list[str]:
    """Return the thinking in a text, in an entry that has it under one of its names, or in a list of such."""
    if isinstance(value, str):
        return [value] if value else []
    if depth > _NESTING:
        return []
    if isinstance(value, dict):
        return next((thoughts for name in _THOUGHTS if (thoughts := _thoughts(value.get(name), depth + 1))), [])
    return [text for entry in value for text in _thoughts(entry, depth + 1)] if isinstance(value, list) else []
