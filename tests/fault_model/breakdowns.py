"""Faults in the middle of the answer."""

from __future__ import annotations

import asyncio

from tests.fault_model.chunks import Json, chunk, tool_delta
from tests.fault_model.exchange import Behaviour, Broken, Exchange
from tests.fault_model.healthy import open_answer


def hangs_after(*words: str) -> Behaviour:
    """Streams ``words`` and then nothing more, with the connection open."""

    async def behave(exchange: Exchange) -> None:
        await open_answer(exchange, words)
        await exchange.until_hangup()

    return behave


def breaks_after(*words: str) -> Behaviour:
    """Streams ``words`` and drops the connection."""

    async def behave(exchange: Exchange) -> None:
        await open_answer(exchange, words)
        raise Broken

    return behave


def ends_after(*words: str) -> Behaviour:
    """Streams ``words`` and ends in order, but without saying that the answer is finished."""

    async def behave(exchange: Exchange) -> None:
        await open_answer(exchange, words)
        await exchange.event("[DONE]")
        await exchange.close_stream()

    return behave


def breaks_in_a_call(*words: str) -> Behaviour:
    """Streams ``words`` and the beginning of a tool call, and drops the connection."""

    async def behave(exchange: Exchange) -> None:
        await open_answer(exchange, words)
        await exchange.event(chunk(tool_delta(0, id="call_0", name="add", arguments='{"x": 1}')))
        raise Broken

    return behave


def sends(*events: Json | str) -> Behaviour:
    """Streams exactly these events."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for event in events:
            await exchange.event(event)
        await exchange.close_stream()

    return behave


def error_after(*words: str, error: Json | str) -> Behaviour:
    """Streams ``words`` and then an error object, as gateways do whose upstream fails late."""
    return sends(*(chunk({"content": word}) for word in words), {"error": error})


def filtered_answer(*words: str) -> Behaviour:
    """Streams ``words`` and stops for the content filter."""
    return sends(*(chunk({"content": word}) for word in words), chunk({}, "content_filter"))


def endless(delay: float = 0.01) -> Behaviour:
    """Streams a word every ``delay`` seconds until the client goes away."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        gone = asyncio.create_task(exchange.until_hangup())
        while not gone.done():
            await exchange.words(["on "], delay)
        await gone

    return behave
