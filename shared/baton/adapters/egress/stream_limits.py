"""Limits on event streams of other servers: total bytes, bytes of an event, JSON values of an event."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from baton.domain.json_values import ValueCount

MAX_PIECE = 2 * 1024
"""The number of bytes passed on at once. Parsing them blocks the event loop for some milliseconds at most."""

IDLE_LINE_BYTES = 1024
"""The number of bytes that are counted for an empty line that ends no event. Such lines cost CPU time."""

_END_OF_LINE = b"\n"
"""The mark between lines in ``StreamMeter._uncounted``."""
_LINE_END = re.compile(rb"\r\n|\r|\n")


class StreamTooLong(Exception):
    """The stream has exceeded a limit. The message says which."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The limits of one stream."""

    stream_bytes: int
    event_bytes: int
    """Bytes between two empty lines. Parsers keep them in memory."""
    event_values: int
    """The number of JSON values in one event."""
    are_per_line: bool = False
    """Whether the limits of an event apply to each line instead. Parsers that join lines must then limit the result."""


@runtime_checkable
class AsyncClosable(Protocol):
    """An object that can be closed, such as the body of a response."""

    async def aclose(self) -> None:
        """Release the object's resources."""


class ClosableIterator(AsyncIterator[bytes]):
    """An iterator over ``parts``; ``aclose`` closes them.

    It is a class because the event loop closes unreachable generators in any order, and a generator that closes another
    one, which is closed already, raises an error.
    """

    def __init__(self, parts: AsyncIterable[bytes]) -> None:
        self._parts = parts
        self._source = aiter(parts)

    async def __anext__(self) -> bytes:
        return await anext(self._source)

    async def aclose(self) -> None:
        """Close the parts, and the generator that reads them, if there is one. May be called twice."""
        try:
            if isinstance(self._source, AsyncGenerator):
                await self._source.aclose()
        finally:
            if isinstance(self._parts, AsyncClosable):
                await self._parts.aclose()


class MeteredIterator(ClosableIterator):
    """An iterator over ``parts`` in pieces of at most ``MAX_PIECE`` bytes. Raises ``StreamTooLong``.

    It lets other tasks run between pieces.
    """

    def __init__(self, parts: AsyncIterable[bytes], limits: StreamLimits) -> None:
        super().__init__(parts)
        self._meter = StreamMeter(limits)
        self._part = b""
        self._position = 0
        """The index of the part's byte with which the next piece begins."""
        self._bytes_since_pause = 0
        """The number of bytes passed on since other tasks could run."""

    async def __anext__(self) -> bytes:
        while self._position >= len(self._part):
            self._part, self._position = await super().__anext__(), 0
        piece = self._part[self._position : self._position + MAX_PIECE]
        self._position += len(piece)
        self._meter.feed(piece)
        if self._bytes_since_pause >= MAX_PIECE:  # data that has already arrived is passed on without waiting
            await asyncio.sleep(0)
            self._bytes_since_pause = 0
        self._bytes_since_pause += len(piece)
        return piece


class StreamMeter:
    """A check of one stream's bytes against its limits."""

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._stream_bytes = 0
        self._event_bytes = 0
        self._has_lines = False
        """Whether the last complete line was not empty."""
        self._line_bytes = 0
        """The number of bytes of the current line. An empty line ends the event."""
        self._values = ValueCount()
        self._uncounted: list[bytes] = []
        """The event's lines whose values are not counted yet, because an event of few bytes cannot hold many."""
        self._is_after_return = False
        """Whether a line feed at the beginning of the next piece belongs to the previous line end."""

    def feed(self, piece: bytes) -> None:
        """Check the next bytes. Raises ``StreamTooLong``."""
        limits = self._limits
        lines = _LINE_END.split(piece)
        self._stream_bytes += len(piece)
        if self._is_after_return and piece.startswith(b"\n"):
            del lines[0]
        self._is_after_return = piece.endswith(b"\r")
        for number, line in enumerate(lines):
            if line:
                self._add_to_line(line)
            if number < len(lines) - 1:
                self._end_line()
        if self._stream_bytes > limits.stream_bytes:
            raise StreamTooLong(f"The stream is longer than {limits.stream_bytes} bytes.")

    def _add_to_line(self, line: bytes) -> None:
        limits = self._limits
        self._line_bytes += len(line)
        self._event_bytes += len(line)
        if self._event_bytes > limits.event_bytes:
            raise StreamTooLong(f"An event of the stream is longer than {limits.event_bytes} bytes.")
        self._uncounted.append(line)
        if self._event_bytes > limits.event_values and self._count_values() > limits.event_values:
            raise StreamTooLong(f"An event of the stream holds more than {limits.event_values} values.")

    def _count_values(self) -> int:
        """Count the event's values so far, and return their number."""
        uncounted, self._uncounted = self._uncounted, []
        for part in uncounted:
            if part == _END_OF_LINE:
                self._values.end_line()
            else:
                self._values.add(part)
        return self._values.count

    def _end_line(self) -> None:
        if not self._line_bytes and not self._has_lines:
            self._stream_bytes += IDLE_LINE_BYTES
        self._has_lines = self._line_bytes > 0
        if self._line_bytes and not self._limits.are_per_line:
            self._uncounted.append(_END_OF_LINE)
        elif self._event_bytes:
            self._event_bytes, self._values, self._uncounted = 0, ValueCount(), []
        self._line_bytes = 0
