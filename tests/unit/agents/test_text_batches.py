"""Joining a model's deltas, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from baton.agents.answer_limit import AnswerLimit
from baton.agents.text_batches import read_batches
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta
from baton_testing.virtual_time import VirtualTimeLoop

FINISHED = Finished(FinishReason.STOP, "model", None)


async def stream_words(seconds: float) -> AsyncGenerator[ModelChunk, None]:
    """Yield a word every 10 ms, the first at once."""
    for _ in range(round(seconds * 100)):
        yield TextDelta("word ")
        await asyncio.sleep(0.01)
    yield FINISHED


async def arrivals(seconds: float, *, stop_after: float | None = None) -> list[tuple[float, ModelChunk]]:
    """The batches, with their times."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    if stop_after is not None:
        loop.call_later(stop_after, stop.set)
    return await batches(stream_words(seconds), stop)


async def batches(
    chunks: AsyncGenerator[ModelChunk, None], stop: asyncio.Event, opened: asyncio.Event | None = None
) -> list[tuple[float, ModelChunk]]:
    loop, taken = asyncio.get_running_loop(), list[tuple[float, ModelChunk]]()

    def take(chunk: ModelChunk) -> None:
        taken.append((round(loop.time(), 1), chunk))

    await read_batches(chunks, take, limit=AnswerLimit(), deadline=60.0, stop=stop, opened=opened)
    return taken


def run(work: Coroutine[Any, Any, list[tuple[float, ModelChunk]]]) -> list[tuple[float, ModelChunk]]:
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def test_text_goes_at_once_then_four_times_a_second_then_twice_a_second() -> None:
    times = [at for at, chunk in run(arrivals(4.6)) if isinstance(chunk, TextDelta)]
    assert times == [0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 4.6]


def test_no_word_is_lost() -> None:
    turn = [chunk.text for _, chunk in run(arrivals(4.6)) if isinstance(chunk, TextDelta)]
    assert "".join(turn) == "word " * 460


def test_the_last_words_and_the_end_wait_for_nothing() -> None:
    *_, (last, _), (end, finished) = run(arrivals(2.1))
    assert (last, end, finished) == (2.1, 2.1, FINISHED)


def test_an_answer_that_is_stopped_ends_at_once_with_what_was_said() -> None:
    values = run(arrivals(30.0, stop_after=10.2))
    assert values[-1][0] == 10.2
    assert sum(len(chunk.text.split()) for _, chunk in values if isinstance(chunk, TextDelta)) in (1020, 1021)


async def stream_texts(*texts: str) -> AsyncGenerator[ModelChunk, None]:
    for text in texts:
        yield TextDelta(text)
        await asyncio.sleep(0.4)
    yield FINISHED


def test_a_character_that_is_split_between_batches_is_whole() -> None:
    async def list_batches() -> list[tuple[float, ModelChunk]]:
        return await batches(stream_texts("Hi \ud83d", "\ude00", "\ud83d", "\ude00!", "\ud83d"), asyncio.Event())

    texts = [chunk.text for _, chunk in run(list_batches()) if isinstance(chunk, TextDelta)]
    assert texts == ["Hi ", "\U0001f600", "\U0001f600!", "\ufffd"]


def test_an_answer_that_is_stopped_before_it_may_begin_says_nothing() -> None:
    """The request to cancel is found while the model is asked already."""

    async def list_batches() -> list[tuple[float, ModelChunk]]:
        loop, stop, opened = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

        def stop_and_open() -> None:
            stop.set()
            opened.set()

        loop.call_later(0.5, stop_and_open)
        return await batches(stream_words(1.0), stop, opened)

    assert run(list_batches()) == []
