"""The chunks of an answer of Chat Completions, in the manner of one endpoint."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from tests.models.standins.chat_replay import reasoning_details, thinking_blocks, thought_signature
from tests.models.standins.dialects import Streaming
from tests.models.standins.question import Answer, Call, Finish, Json, pieces_of, tokens_of

ENDS = {Finish.LENGTH: "length", Finish.FILTERED: "content_filter", Finish.FILTERED_LATE: "content_filter"}
SIZE = 7
"""Characters of each piece of a call's arguments."""


class ChatStream:
    """The chunks of one answer."""

    def __init__(self, style: Streaming, model: str, prompt_tokens: int, *, counts_usage: bool) -> None:
        self._style = style
        self._model = model
        self._prompt_tokens = prompt_tokens
        self._counts = counts_usage
        self._id = f"chatcmpl-{uuid.uuid4().hex}"

    def chunks(self, answer: Answer) -> Iterator[Json]:
        """Yield all chunks but the end mark."""
        style = self._style
        if style.first_chunk is not None:
            yield self._chunk({}) | style.first_chunk
        yield self._chunk({"role": "assistant", "content": ""})
        if answer.thinking:
            yield from map(self._chunk, self._thinking(answer.thinking))
        pieces = pieces_of(answer.text)
        for position, piece in enumerate(pieces):
            field = "refusal" if answer.finish is Finish.REFUSED else "content"
            content: Any = (
                [{"type": "text", "text": piece}] if style.reasoning == "list" and field == "content" else piece
            )
            last = self._usage(answer) if style.usage == "last" and position == len(pieces) - 1 else {}
            yield self._chunk({field: content}) | last
            if style.null_delta and not position:
                yield self._choice(None, None)
        yield from self._calls(answer.calls)
        end = style.finish_with_calls if answer.calls else ENDS.get(answer.finish, style.finish)
        if end is not None:
            yield self._chunk({}, end)
        if style.usage == "asked" and self._counts:
            yield self._chunk({}) | {"choices": []} | self._usage(answer)

    def error(self, error: Json) -> Json:
        """Return a chunk that says that the answer has failed."""
        return self._chunk({"content": ""}, "error") | {"error": error}

    def _thinking(self, thinking: str) -> Iterator[Json]:
        field = self._style.reasoning
        pieces = pieces_of(thinking)
        if field == "list":
            for piece in pieces:
                yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}
        elif field == "tags":
            # The tags are split as servers split them: token by token.
            for piece in ("<th", "ink>\n", *pieces, "\n</thi", "nk>", "\n\n"):
                yield {"content": piece}
        elif field == "reasoning_details":
            text, rest = reasoning_details(thinking)
            for piece in pieces:
                part = {"type": text["type"], "text": piece, "format": text["format"], "index": 0}
                yield {"content": "", "reasoning": piece, "reasoning_details": [part]}
            signed = {key: value for key, value in text.items() if key != "text"}
            yield {"content": "", "reasoning_details": [signed]}
            yield {"content": "", "reasoning_details": [rest]}
        elif field == "thinking_blocks":
            for piece in pieces:
                block = {"type": "thinking", "thinking": piece, "signature": None}
                yield {"reasoning_content": piece, "thinking_blocks": [block]}
            signature = thinking_blocks(thinking)[0]["signature"]
            yield {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": signature}]}
        elif field != "none":
            for piece in pieces:
                yield {"content": None, field: piece}

    def _calls(self, calls: tuple[Call, ...]) -> Iterator[Json]:
        style = self._style
        content: Json = {"content": None} if style.null_content else {}
        for position, call in enumerate(calls):
            head: Json = self._index(position)
            if style.call_ids != "missing":
                head |= {"id": self._call_id(position, call)}
            signed = style.signature and not position
            extra: Json = (
                {"extra_content": {"google": {"thought_signature": thought_signature(call)}}} if signed else {}
            )
            first = call.arguments if style.whole_calls else ""
            opening = head | {"type": "function", "function": {"name": call.name, "arguments": first}}
            yield self._chunk(content | {"tool_calls": [opening | (extra if style.signature == "call" else {})]})
            rest = "" if style.whole_calls else call.arguments
            for start in range(0, len(rest), SIZE):
                piece = {"function": {"arguments": rest[start : start + SIZE]}}
                yield self._chunk(content | {"tool_calls": [self._index(position) | piece]})
            if signed and style.signature == "own":
                yield self._chunk({"tool_calls": [head | {"type": "function"} | extra]})

    def _index(self, position: int) -> Json:
        options = {"counted": position, "zero": 0}.get(self._style.call_index)
        return {} if options is None else {"index": options}

    def _call_id(self, position: int, call: Call) -> str:
        if self._style.call_ids == "counted":
            return f"call_{position}"
        if self._style.call_ids == "nine":
            return hashlib.sha256(f"{self._id}{position}".encode()).hexdigest()[:9]
        return f"call_{uuid.uuid4().hex}"

    def _usage(self, answer: Answer) -> Json:
        thought = tokens_of(answer.thinking) if answer.thinking else 0
        tokens = tokens_of(answer.text) + sum(tokens_of(call.key) for call in answer.calls) + thought
        counts = {"prompt_tokens": self._prompt_tokens, "completion_tokens": tokens,
                  "total_tokens": self._prompt_tokens + tokens}  # fmt: skip
        details = {"prompt_tokens_details": {"cached_tokens": 0},
                   "completion_tokens_details": {"reasoning_tokens": thought}}  # fmt: skip
        return {"usage": counts | details}

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        return self._choice(delta, finish)

    def _choice(self, delta: Json | None, finish: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": 1,
            "model": self._model,
            "choices": [choice],
        }
