"""Limits of event streams, wherever their bytes are cut."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.egress.stream_limits import MeteredIterator, StreamLimits, StreamMeter, StreamTooLong
from baton.adapters.models.openai.clients import limit_response

LIMITS = StreamLimits(stream_bytes=10_000, event_bytes=60, event_values=5)


def read(stream: bytes, cuts: list[int], limits: StreamLimits = LIMITS) -> bool:
    """Return whether the whole stream, cut into pieces, is within the limits."""
    meter = StreamMeter(limits)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    try:
        for start, end in itertools.pairwise(places):
            meter.feed(stream[start:end])
    except StreamTooLong:
        return False
    return True


@given(
    st.lists(st.sampled_from([b"data: [1,2]", b'data: "a,b"', b": it's fine", b'data: {"a":[]}', b""]), max_size=20),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 300), max_size=8),
)
def test_where_a_stream_is_cut_makes_no_difference(lines: list[bytes], end: bytes, cuts: list[int]) -> None:
    stream = b"".join(line + end for line in lines)
    assert read(stream, cuts) == read(stream, [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_limits_of_an_event_hold_for_each_event(end: bytes) -> None:
    event = b"data: [1,2,3]" + end + b"data: " + b"x" * 30 + end + end
    assert read(event * 100, [])
    assert not read(event[: -len(end)] + b"data: " + b"x" * 30 + end, [])
    assert not read(b"data: [1,2,3,4,5,6]", [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_limits_may_hold_for_each_line(end: bytes) -> None:
    limits = replace(LIMITS, are_per_line=True)
    assert read((b"data: [1,2,3]" + end) * 100, [], limits)
    assert read((b"data: [1,2,3]" + end + end) * 100, [], limits)
    assert not read(b"data: [1,2,3,4,5,6]", [], limits)
    assert not read(b"data: " + b"x" * 60, [], limits)
    assert not read(end * 11, [], limits)


def test_a_comment_with_a_quote_hides_nothing() -> None:
    assert not read(b': it is 5"\ndata: [1,2,3,4,5,6]\n\n', [])


def test_empty_lines_count_more_than_their_bytes() -> None:
    assert read(b"\n" * 9, [])
    assert not read(b"\n" * 11, [])


def test_the_whole_is_limited() -> None:
    assert not read(b"data: xxxxxxxx\n\n" * 700, [])


@pytest.mark.parametrize("ending", ["a limit", "the reader", "the end"])
async def test_what_is_read_from_is_closed_however_the_reading_ends(ending: str) -> None:
    closed = []

    async def source() -> AsyncIterator[bytes]:
        try:
            yield b"data: 1\n\n"
            yield b"x" * (LIMITS.event_bytes + 1 if ending == "a limit" else 1)
            yield b"\n\n"
        finally:
            closed.append(ending)

    stored = source()  # a reference, so that nothing but the reader closes it
    read = []
    try:
        async with aclosing(MeteredIterator(stored, LIMITS)) as pieces:
            async for piece in pieces:
                read.append(piece)
                if ending == "the reader":
                    break
    except StreamTooLong:
        assert ending == "a limit"
    assert read[0] == b"data: 1\n\n"
    assert closed == [ending]


async def test_readers_of_closed_responses_are_collected_without_errors() -> None:
    unexpected, closed = [], []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unexpected.append(context))

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                yield b"data: 1\n\n"
                yield b"data: 2\n\n"
            finally:
                closed.append(True)
                await asyncio.sleep(0)

    async def read_and_leave() -> None:
        response = httpx2.Response(200, stream=Body())
        await limit_response(response)
        reader = response.aiter_bytes()
        await anext(reader)
        await response.aclose()
        cycle = [reader, response.stream]
        cycle.append(cycle)  # type: ignore[arg-type]

    for _ in range(5):
        await read_and_leave()
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    asyncio.get_running_loop().set_exception_handler(None)
    assert unexpected == []
    assert len(closed) == 5
