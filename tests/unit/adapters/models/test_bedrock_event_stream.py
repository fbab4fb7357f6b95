"""Decoding the event stream of Amazon Bedrock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from baton.adapters.egress.stream_limits import StreamLimits, StreamTooLong
from baton.adapters.models.bedrock.event_stream import BrokenStream, EventStream, StreamEvent
from tests.fault_model.event_frames import event_frame, exception_frame, frame

HELLO = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Grüezi 👋"}, "p": "abcdefgh"})
STOP = event_frame("messageStop", {"stopReason": "end_turn"})
LIMITS = StreamLimits(stream_bytes=8_000, event_bytes=3_000, event_values=100)


async def decode(*pieces: bytes, limits: StreamLimits = LIMITS) -> list[StreamEvent]:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [event async for event in EventStream(body(), limits)]


def cut_stream(stream: bytes, size: int) -> Sequence[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
async def test_frames_may_be_cut_anywhere(size: int) -> None:
    events = await decode(*cut_stream(HELLO + STOP, size))
    assert [event.name for event in events] == ["contentBlockDelta", "messageStop"]
    assert events[0].fields["delta"] == {"text": "Grüezi 👋"}
    assert not events[0].is_exception


async def test_an_exception_has_its_name_and_fields() -> None:
    [event] = await decode(exception_frame("throttlingException", "Too many requests", originalStatusCode=429))
    assert event == StreamEvent(
        "throttlingException", {"message": "Too many requests", "originalStatusCode": 429}, is_exception=True
    )


async def test_an_error_of_the_connection_is_an_exception_too() -> None:
    headers = {":message-type": "error", ":error-code": "InternalError", ":error-message": "An internal error."}
    assert await decode(frame(headers, b"")) == [
        StreamEvent("InternalError", {"message": "An internal error."}, is_exception=True)
    ]


async def test_an_event_without_payload_has_no_fields() -> None:
    assert await decode(event_frame("somethingNew", b"")) == [StreamEvent("somethingNew", {})]


@pytest.mark.parametrize("location", range(0, len(STOP), 5))
async def test_a_changed_byte_is_found_by_the_sums(location: int) -> None:
    changed = STOP[:location] + bytes([STOP[location] ^ 0x10]) + STOP[location + 1 :]
    with pytest.raises(BrokenStream):
        await decode(changed)


@pytest.mark.parametrize(
    "payload", [b"[]", b'"text"', b"{", b"\xff", b'{"a":' + b"[" * 90], ids=["list", "text", "half", "latin", "deep"]
)
async def test_a_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    with pytest.raises(BrokenStream):
        await decode(event_frame("messageStop", payload))


async def test_a_web_page_is_no_event_stream() -> None:
    with pytest.raises(BrokenStream):
        await decode(b"<html><body>Service Unavailable</body></html>")


async def test_a_stream_that_ends_inside_a_frame_is_broken() -> None:
    with pytest.raises(BrokenStream, match="inside a frame"):
        await decode(HELLO, STOP[:-1])


async def test_a_long_frame_is_refused_before_it_is_complete() -> None:
    with pytest.raises(StreamTooLong, match="event"):
        await decode(*cut_stream(event_frame("x", {"text": "x" * 7_000}), 1_000)[:6])


async def test_a_long_stream_is_refused() -> None:
    with pytest.raises(StreamTooLong, match="stream"):
        await decode(*[HELLO] * 100)


async def test_a_frame_of_many_values_is_refused() -> None:
    with pytest.raises(StreamTooLong, match="values"):
        await decode(event_frame("x", {"values": [0] * 101}))
