"""Events of a response in AWS's binary encoding (``application/vnd.amazon.eventstream``).

botocore decodes the frames and checks their sums. The payloads are JSON. Blobs stay base64, as a later request sends
them back.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import Any

from botocore.eventstream import EventStreamBuffer, ParserError

from baton.adapters.egress.stream_limits import MAX_PIECE, ClosableIterator, StreamLimits, StreamTooLong
from baton.domain.json_values import ValueCount, count_values

LIMITS = StreamLimits(stream_bytes=64 * 1024 * 1024, event_bytes=1024 * 1024, event_values=10_000)
"""Bedrock sends a few tokens in a frame of 200 bytes and more, padded at random to hide the length of the text."""
WHOLE_LIMITS = StreamLimits(stream_bytes=4 * 1024 * 1024, event_bytes=4 * 1024 * 1024, event_values=100_000)
"""The limits of an answer that is not streamed: four times the longest answer that is passed on."""


class BrokenStream(Exception):
    """The bytes are not an event stream, or end inside a frame. The message says why."""


class NoEventStream(BrokenStream):
    """The body is something else, such as a page of a proxy: no frame begins like it."""

    def __init__(self, body: bytes) -> None:
        super().__init__("The body is no event stream.")
        self.body = body


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of the stream, or the exception that ends it."""

    name: str
    """The event's name, such as ``contentBlockDelta`` or ``throttlingException``. Empty if the frame has none."""
    fields: dict[str, Any]
    is_exception: bool = False


class WholeBody:
    """A body that is collected up to its limits."""

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._values = ValueCount()
        self.content = bytearray()

    def add(self, piece: bytes) -> None:
        """Add the next bytes. Raises ``StreamTooLong``."""
        self.content += piece
        if len(self.content) > self._limits.stream_bytes:
            raise StreamTooLong(f"The answer is longer than {self._limits.stream_bytes} bytes.")
        if self._values.add(piece) > self._limits.event_values:
            raise StreamTooLong(f"The answer holds more than {self._limits.event_values} values.")


class EventStream(AsyncIterator[StreamEvent]):
    """The decoded events of ``body``, whose frames may be cut anywhere.

    Raises ``NoEventStream``, ``BrokenStream`` and ``StreamTooLong``, and passes on what ``body`` raises. It decodes
    small pieces and lets other tasks run in between. A body that is no event stream has the limits ``WHOLE_LIMITS``.
    """

    def __init__(self, body: AsyncIterable[bytes], limits: StreamLimits = LIMITS) -> None:
        self._body = ClosableIterator(body)
        self._limits = limits
        self._frames = EventStreamBuffer()
        self._part = b""
        self._position = 0
        """The byte of the part with which the next piece begins."""
        self._total = 0
        self._unread = 0
        """Bytes of the frame that is not complete yet."""

    async def __anext__(self) -> StreamEvent:
        while (event := self._read_next_event()) is None:
            piece = await self._read_next_piece()
            if not piece:
                if self._unread:
                    raise BrokenStream("The event stream ends inside a frame.")
                raise StopAsyncIteration
            if not self._total and piece[0]:  # a frame is shorter than 16 MiB
                raise NoEventStream(await self._read_whole(piece))
            self._add_piece(piece)
        return event

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()

    async def _read_next_piece(self) -> bytes:
        """Return the next bytes of the body; empty at its end."""
        while self._position >= len(self._part):
            part = await anext(self._body, None)
            if part is None:
                return b""
            self._part, self._position = part, 0
        if self._position:  # data that has already arrived is passed on without waiting
            await asyncio.sleep(0)
        piece = self._part[self._position : self._position + MAX_PIECE]
        self._position += len(piece)
        return piece

    async def _read_whole(self, beginning: bytes) -> bytes:
        """Return a body that is not a stream. Raises ``StreamTooLong``."""
        body = WholeBody(WHOLE_LIMITS)
        body.add(beginning)
        while piece := await self._read_next_piece():
            body.add(piece)
        return bytes(body.content)

    def _add_piece(self, piece: bytes) -> None:
        """Add the next bytes of the stream. Raises ``StreamTooLong``."""
        self._total += len(piece)
        self._unread += len(piece)
        if self._total > self._limits.stream_bytes:
            raise StreamTooLong(f"The stream is longer than {self._limits.stream_bytes} bytes.")
        if self._unread > self._limits.event_bytes + MAX_PIECE:  # the end of one frame and the beginning of the next
            raise StreamTooLong(f"An event of the stream is longer than {self._limits.event_bytes} bytes.")
        self._frames.add_data(piece)

    def _read_next_event(self) -> StreamEvent | None:
        """Return the next complete event; None if more bytes are needed.

        Raises ``BrokenStream`` and ``StreamTooLong``.
        """
        try:
            frame: Any = next(self._frames, None)  # its attributes are declared wrongly
            if frame is None:
                return None
            self._unread -= frame.prelude.total_length
            return self._decode_frame(frame)
        except (ParserError, struct.error, LookupError, ValueError, RecursionError) as error:
            raise BrokenStream(f"The event stream cannot be decoded: {type(error).__name__}.") from None

    def _decode_frame(self, frame: Any) -> StreamEvent:
        """Return the event of a frame. Raises ``StreamTooLong`` for too many values, ``ValueError`` for no object."""
        payload = frame.payload
        if count_values(payload) > self._limits.event_values:
            raise StreamTooLong(f"An event of the stream holds more than {self._limits.event_values} values.")
        kind = frame.headers.get(":message-type")
        if kind == "error":  # an error of the connection, not of the model
            text = frame.headers.get(":error-message", "")
            return StreamEvent(str(frame.headers.get(":error-code", "")), {"message": text}, is_exception=True)
        fields = json.loads(payload) if payload else {}
        if not isinstance(fields, dict):
            raise ValueError("no object")
        is_exception = kind == "exception"
        name = frame.headers.get(":exception-type" if is_exception else ":event-type", "")
        return StreamEvent(str(name), fields, is_exception)
