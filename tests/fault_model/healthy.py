"""Answers of a healthy endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.fault_model.chunks import Json, chunk, tool_delta, usage_chunk, words_of
from tests.fault_model.exchange import Behaviour, Exchange


def answers(
    text: str = "Hello there.", *, delay: float = 0.0, usage: bool = True, finish: str = "stop", cached: int = 0
) -> Behaviour:
    """Streams ``text`` word by word (``delay`` seconds a word) and ends as it should."""

    async def behave(exchange: Exchange) -> None:
        await _stream(exchange, words_of(text), delay=delay, usage=usage, finish=finish, cached=cached)

    return behave


def tokens(count: int, *, delay: float = 0.0) -> Behaviour:
    """Streams ``count`` numbered tokens, ``delay`` seconds apart."""
    return answers(" ".join(f"t{n}" for n in range(count)), delay=delay)


def echo() -> Behaviour:
    """Answers with the text of the last user message."""

    async def behave(exchange: Exchange) -> None:
        content = next((content for role, content in reversed(exchange.received.prompts) if role == "user"), "")
        text = content if isinstance(content, str) else json.dumps(content)
        await _stream(exchange, words_of(text or "(nothing)"))

    return behave


def calls_tools(*calls: tuple[str, Json | str], text: str = "", finish: str = "tool_calls") -> Behaviour:
    """Streams ``text`` and then tool calls as OpenAI does: head by head, the arguments in pieces.

    A call is the tool's name, which need not exist, and its arguments; a string goes as it is, malformed or not. The
    calls' ids are ``call_0``, ``call_1``, ...
    """

    async def behave(exchange: Exchange) -> None:
        await open_answer(exchange, words_of(text) if text else ())
        for index, (name, arguments) in enumerate(calls):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            await exchange.event(chunk(tool_delta(index, id=f"call_{index}", name=name, arguments="")))
            for start in range(0, len(written), 8):
                await exchange.event(chunk(tool_delta(index, arguments=written[start : start + 8])))
        await _finish(exchange, finish, usage_tokens=len(calls))

    return behave


async def open_answer(exchange: Exchange, words: Sequence[str], delay: float = 0.0) -> None:
    """The head of an answer and its first ``words``."""
    await exchange.open_stream()
    await exchange.event(chunk({"role": "assistant", "content": ""}))
    await exchange.words(words, delay)


async def _stream(
    exchange: Exchange,
    words: Sequence[str],
    *,
    delay: float = 0.0,
    usage: bool = True,
    finish: str = "stop",
    cached: int = 0,
) -> None:
    await open_answer(exchange, words, delay)
    await _finish(exchange, finish, usage_tokens=len(words) if usage else None, cached=cached)


async def _finish(exchange: Exchange, finish: str, *, usage_tokens: int | None, cached: int = 0) -> None:
    await exchange.event(chunk({}, finish))
    request = (exchange.received.body.get("stream_options") or {}).get("include_usage")
    if usage_tokens is not None and request:
        prompt_tokens = len(json.dumps(exchange.received.body["messages"]).split())
        await exchange.event(usage_chunk(prompt_tokens, usage_tokens, cached))
    await exchange.event("[DONE]")
    await exchange.close_stream()
