"""How much of a stranger's event stream is read: in all, of one event, and of what one event makes a parser do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass

from baton.domain.json_values import ValueCount

MAX_PIECE = 8 * 1024
"""Bytes that are given on at once: what parsers make of them keeps the event loop for some milliseconds at most."""

IDLE_LINE_BYTES = 1024
"""What an empty line counts that ends no event: nobody has a reason to send many, and each is work."""

_LINE_END = re.compile(rb"\r\n|\r|\n")


class StreamTooLong(Exception):
    """The stream has gone over a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """What one stream may have."""

    stream_bytes: int
    event_bytes: int
    """From one empty line to the next: parsers keep that much in memory."""
    event_values: int
    """Values of JSON in one event."""


async def metered(parts: AsyncIterable[bytes], limits: StreamLimits) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` in small pieces, with a pause for everybody else between them. Raises ``StreamTooLong``."""
    meter, given = StreamMeter(limits), 0
    async for part in parts:
        for start in range(0, len(part), MAX_PIECE):
            piece = part[start : start + MAX_PIECE]
            meter.feed(piece)
            if given >= MAX_PIECE:  # what has arrived already is given out without any wait
                await asyncio.sleep(0)
                given = 0
            given += len(piece)
            yield piece


class StreamMeter:
    """Checks one stream, whose bytes are given to ``feed`` as they come."""

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._total = 0
        self._event = 0
        self._line = 0
        """Bytes of the line so far; an empty one ends the event."""
        self._values = ValueCount()
        self._is_after_return = False
        """Whether a line feed at the beginning of the next piece belongs to the line end before it."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes. Raises ``StreamTooLong``."""
        limits = self._limits
        lines = _LINE_END.split(piece)
        self._total += len(piece)
        if self._is_after_return and piece.startswith(b"\n"):
            del lines[0]
        self._is_after_return = piece.endswith(b"\r")
        for number, line in enumerate(lines):
            self._line += len(line)
            self._event += len(line)
            if self._event > limits.event_bytes:
                raise StreamTooLong(f"An event of the stream is longer than {limits.event_bytes} bytes.")
            if self._values.add(line) > limits.event_values:
                raise StreamTooLong(f"An event of the stream holds more than {limits.event_values} values.")
            if number < len(lines) - 1:
                self._end_line()
        if self._total > limits.stream_bytes:
            raise StreamTooLong(f"The stream is longer than {limits.stream_bytes} bytes.")

    def _end_line(self) -> None:
        if self._line == 0:
            self._total += 0 if self._event else IDLE_LINE_BYTES
            self._event, self._values = 0, ValueCount()
        else:
            self._values.end_line()
        self._line = 0
