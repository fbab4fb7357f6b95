"""One answer in the shapes of Chat Completions, with its tokens counted."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from baton.ports.agents.chat_model import TokenCounter
from baton_local.demo_model.engine import Reply
from baton_local.demo_model.wire import ChatMessage, ChatRequest

IMAGE_TOKENS = 85
"""OpenAI's count for an image of low detail, which the demo model takes for every image."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool call of the answer."""

    id: str
    name: str
    arguments: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer, ready to be given whole or piece by piece."""

    id: str
    created: int
    model: str
    text: str
    calls: tuple[FunctionCall, ...]
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int

    @classmethod
    def of(cls, request: ChatRequest, reply: Reply, counter: TokenCounter) -> Completion:
        """Return ``reply`` as the answer to ``request``, cut at the request's output limit.

        A cut answer calls no tools. ``counter`` counts the tokens of prompt and answer.
        """
        completion = cls(
            id=f"chatcmpl-demo-{uuid.uuid4().hex}",
            created=int(time.time()),
            model=request.model,
            text=reply.text,
            calls=_make_calls(reply),
            finish_reason="tool_calls" if reply.calls else "stop",
            prompt_tokens=_count_prompt(request, counter),
            completion_tokens=0,
        )
        tokens = counter.count(completion.text) + sum(
            _count_call(call.name, call.arguments, counter) for call in completion.calls
        )
        if request.output_limit is None or tokens <= request.output_limit:
            return replace(completion, completion_tokens=tokens)
        text = _cut(completion.text, request.output_limit, counter)
        return replace(completion, text=text, calls=(), finish_reason="length", completion_tokens=counter.count(text))

    def to_response(self) -> dict[str, Any]:
        """Return the answer to a request that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text, "refusal": None}
        if self.calls:
            message["content"] = self.text or None
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        return self._make_envelope("chat.completion") | {"choices": [choice], "usage": self._make_usage()}

    def make_first_chunk(self) -> dict[str, Any]:
        """Return the head of a stream."""
        return self._make_chunk({"role": "assistant", "content": ""})

    def make_content_chunks(self) -> Iterator[dict[str, Any]]:
        """Yield the chunks between the head and the end: one for each word, then those of each tool call."""
        for word in _split_words(self.text):
            yield self._make_chunk({"content": word})
        for index, call in enumerate(self.calls):
            head = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            yield self._make_chunk({"tool_calls": [{"index": index} | head]})
            for piece in _split_words(call.arguments):
                yield self._make_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def make_end_chunk(self) -> dict[str, Any]:
        """Return the chunk with the reason why the stream ends."""
        return self._make_chunk({}, self.finish_reason)

    def make_usage_chunk(self) -> dict[str, Any]:
        """Return the chunk that ``include_usage`` asks for."""
        return self._make_envelope("chat.completion.chunk") | {"choices": [], "usage": self._make_usage()}

    def _make_chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._make_envelope("chat.completion.chunk") | {"choices": [choice]}

    def _make_usage(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }

    def _make_envelope(self, kind: str) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return head | {"system_fingerprint": None}


def _make_calls(reply: Reply) -> tuple[FunctionCall, ...]:
    return tuple(
        FunctionCall(f"call_{uuid.uuid4().hex[:24]}", call.name, json.dumps(call.arguments, ensure_ascii=False))
        for call in reply.calls
    )


def _split_words(text: str) -> list[str]:
    """Return the words with the spaces before them; spaces at the end are a separate item."""
    return re.findall(r"\s*\S+|\s+$", text)


def _cut(text: str, limit: int, counter: TokenCounter) -> str:
    """Return the longest prefix of whole words within ``limit`` tokens, or the first character if no word fits."""
    words = _split_words(text)
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count("".join(words[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return "".join(words[:low]) or text[:1]


def _count_prompt(request: ChatRequest, counter: TokenCounter) -> int:
    """Count a prompt's tokens as OpenAI does: 3 for a message, 1 for a name, 3 to open the answer, and all texts.

    Tools count by their JSON.
    """
    tools = sum(counter.count(tool.function.model_dump_json()) for tool in request.tools or ())
    return 3 + tools + sum(_count_message(message, counter) for message in request.messages)


def _count_message(message: ChatMessage, counter: TokenCounter) -> int:
    total = 3 + counter.count(message.role)
    if message.name:
        total += 1 + counter.count(message.name)
    for call in message.tool_calls or ():
        total += _count_call(call.function.name, call.function.arguments, counter)
    if isinstance(message.content, list):
        return total + sum(_count_part(part, counter) for part in message.content)
    return total + counter.count(message.content or "")


def _count_call(name: str, arguments: str, counter: TokenCounter) -> int:
    return counter.count(name) + counter.count(arguments)


def _count_part(part: dict[str, Any], counter: TokenCounter) -> int:
    if part.get("type") == "text":
        return counter.count(str(part.get("text", "")))
    if part.get("type") == "image_url":
        return IMAGE_TOKENS
    file = part.get("file")
    return counter.count(str(file.get("filename", ""))) if isinstance(file, dict) else 0
