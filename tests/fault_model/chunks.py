"""The chunks of completions on the wire."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def chunk(delta: Json, finish: str | None = None, **more: object) -> Json:
    """One chunk of a completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "fault-1", "choices": [choice]} | more


def tool_delta(index: int | None, *, id: str | None = None, name: str | None = None, arguments: Any = None) -> Json:  # noqa: A002
    """The delta with one fragment of a tool call; what is None is left out, as some endpoints do."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [head | {"type": "function", "function": function}]}


def usage_chunk(prompt: int, completion: int, cached: int = 0) -> Json:
    """The chunk that carries the token counts; ``cached`` ones were read from a prompt cache."""
    counts: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if cached:
        counts["prompt_tokens_details"] = {"cached_tokens": cached, "audio_tokens": 0}
    return chunk({}, usage=counts) | {"choices": []}


def words_of(text: str) -> list[str]:
    """``text`` in pieces that make it up again."""
    words = text.split(" ")
    return [word if last else f"{word} " for last, word in ((i == len(words) - 1, w) for i, w in enumerate(words))]
