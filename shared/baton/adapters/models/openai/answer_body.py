"""The JSON values of an endpoint's answer, in a stream of events or in the forms that some endpoints send instead."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2 as httpx

from baton.adapters.egress.stream_limits import StreamLimits, StreamMeter, StreamTooLong
from baton.adapters.models.failures.failure import MAX_TEXT, FailureKind, ProviderFailure
from baton.adapters.models.openai.errors import make_provider_failure

DRAIN_SECONDS = 0.1
"""The longest wait for the end of a body after its end mark. HTTP/1.1 needs it to use the connection again."""
_FIELD = re.compile(rb"(data|event|id|retry)(?::|$)|:")
"""The beginning of a line of an event stream; other lines are not read."""
_LINE_END = re.compile(rb"[\r\n]")
_IDLE = frozenset({"", "ping", "pong", "heartbeat", "keepalive", "keep-alive"})
"""Names or whole data of events without content."""


@dataclass(frozen=True, slots=True)
class AnswerValue:
    """A JSON value of an answer."""

    value: Any
    """The value, which is never null or empty."""
    name: str = ""
    """The event's name, which few endpoints send."""
    is_streamed: bool = True
    """Whether the body is an event stream, and not a JSON text or lines of JSON."""


class AnswerBody(AsyncIterator[AnswerValue]):
    """The values in the body of ``response``.

    The content decides how the body is read, because gateways send any content type. It may be an event stream
    (https://html.spec.whatwg.org/multipage/server-sent-events.html), even one that begins with a byte order mark or
    lacks empty lines between its events or at its end. It may also be a JSON text, or lines of JSON.

    Raises ``ProviderFailure`` for a broken connection, for a body that is not an answer and for events that are not
    JSON. Raises ``StreamTooLong`` for an event of many lines beyond ``limits``, and passes on that of ``response``. An
    event that the end of the body cuts is left out.
    """

    def __init__(self, response: httpx.Response, limits: StreamLimits) -> None:
        self.has_end_mark = False
        """Whether the mark ``[DONE]`` has arrived."""
        self._response = response
        self._limits = limits
        self._meter: StreamMeter | None = None
        """The check of an event of several lines."""
        self._pieces: AsyncIterator[bytes] | None = None
        self._lines = _Lines()
        self._ready: deque[AnswerValue] = deque()
        self._problem: Exception | None = None
        """The error to raise after the ready events."""
        self._is_stream: bool | None = None
        """Whether the body is an event stream; None until a line shows it."""
        self._name = ""
        self._data: list[str] = []
        """The lines of data of the current event, or all lines of a JSON text."""
        self._first: AnswerValue | None = None
        """The event in the first of these lines, if this line alone is a complete event."""

    async def __anext__(self) -> AnswerValue:
        while not self._ready:
            if self._problem is not None:
                raise self._problem from None
            if self.has_end_mark:
                await self._drain()
                raise StopAsyncIteration
            piece = await self._read_next_piece()
            try:
                self._read(piece)
            except (ValueError, RecursionError, StreamTooLong) as problem:
                self._problem = problem if isinstance(problem, StreamTooLong) else make_provider_failure(problem)
                continue
            if piece is None and not self._ready:
                raise StopAsyncIteration
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the connection, which ends the answer."""
        await self._response.aclose()

    async def _read_next_piece(self) -> bytes | None:
        """Return the next bytes of the body; None at its end."""
        if self._pieces is None:
            self._pieces = aiter(self._response.aiter_bytes())
        try:
            return await anext(self._pieces, None)
        except httpx.HTTPError as error:
            kind = FailureKind.PROTOCOL if isinstance(error, httpx.DecodingError) else FailureKind.CONNECTION
            raise ProviderFailure(type(error).__name__, kind, text=str(error)) from None

    async def _drain(self) -> None:
        """Read the rest of the body, for ``DRAIN_SECONDS`` at most, and close it."""
        with suppress(TimeoutError, ProviderFailure, StreamTooLong):
            async with asyncio.timeout(DRAIN_SECONDS):
                while await self._read_next_piece() is not None:
                    pass
        await self._response.aclose()

    def _read(self, piece: bytes | None) -> None:
        """Take the lines that the next piece completes, or the end of the body."""
        for line in self._lines.feed(piece) if piece is not None else self._lines.end():
            if self.has_end_mark:
                return
            self._take(line)
        if piece is None:
            self._end()

    def _take(self, line: bytes) -> None:
        """Take a line. The first that is not blank shows whether the body is a stream, JSON, or no answer."""
        if self._is_stream is None and line.strip():
            self._is_stream = _FIELD.match(line) is not None
            if not self._is_stream and line.lstrip()[:1] not in (b"{", b"["):
                raise self._make_no_answer(line)
        if self._is_stream is False:
            self._take_json(line)
        elif not line:
            self._dispatch()
        else:
            self._take_field(line)

    def _take_field(self, line: bytes) -> None:
        """Take a line of an event stream. Only data and names of events count."""
        field = _FIELD.match(line)
        if field is None and line.startswith(b"{"):  # some servers send an error without ``data:``
            self._dispatch()
            self._data, self._name = [line.decode("utf-8", "replace")], ""
            self._dispatch()
            return
        if field is None or field[1] not in (b"data", b"event"):
            return
        value = line[field.end() :].removeprefix(b" ").decode("utf-8", "replace")
        is_mark = field[1] == b"data" and value.strip(' "').lower().startswith("[done]")
        # Some servers put no empty line between events, so the next data or event ends data that is complete.
        if self._data and (is_mark or field[1] == b"event" or self._is_complete()):
            self._dispatch()
        if field[1] == b"event":
            self._name = value
        elif is_mark:
            self.has_end_mark = True
        else:
            self._add_data(value)

    def _add_data(self, text: str) -> None:
        """Add a line of data. Raises ``StreamTooLong``."""
        if self._data:
            if self._meter is None:
                self._meter = StreamMeter(self._limits)
                self._meter.feed(self._data[0].encode())
            self._meter.feed(text.encode())  # without line ends, so that the lines are one event
        self._data.append(text)

    def _is_complete(self) -> bool:
        """Return whether the first line of data is an event by itself. Several lines are read as one event."""
        if len(self._data) > 1:
            return False
        with suppress(ValueError, RecursionError):
            self._first = AnswerValue(json.loads(self._data[0]), self._name)
        return self._first is not None

    def _dispatch(self) -> None:
        """End the current event, and add its value, if it has one, to the ready values.

        Raises ``ValueError`` for data that is not JSON.
        """
        data, name, first = self._data, self._name, self._first
        self._data, self._name, self._first, self._meter = [], "", None, None
        if first is None or name:
            text = "\n".join(data)
            if text.strip().lower() in _IDLE or name.lower() in _IDLE - {""}:
                return
            first = AnswerValue(_read_error_text(text) if name == "error" else json.loads(text), name)
        if first.value not in (None, "", [], {}):
            self._ready.append(first)

    def _take_json(self, line: bytes) -> None:
        """Take a line of a JSON text, or of lines of JSON, which are events."""
        text = line.decode("utf-8", "replace")
        if not self._data:
            if not text.strip():
                return
            with suppress(ValueError):
                value = json.loads(text)
                if value:
                    self._ready.append(AnswerValue(value, is_streamed=False))
                return
        self._add_data(text)

    def _end(self) -> None:
        """End the body. Raises ``ValueError`` for a JSON text that is cut."""
        if self._is_stream is None:
            raise self._make_no_answer(b"")
        data, self._data = self._data, []
        if self._is_stream is False:
            if data and (value := json.loads("\n".join(data))):
                self._ready.append(AnswerValue(value, is_streamed=False))
            return
        self._data = data
        with suppress(ValueError, RecursionError):
            self._dispatch()

    def _make_no_answer(self, line: bytes) -> ProviderFailure:
        """Return the failure of a body that is neither JSON nor an event stream, such as a page of a proxy."""
        kind = self._response.headers.get("content-type", "no content type")
        text = line[:MAX_TEXT].decode("utf-8", "replace").strip() or "nothing"
        message = f"The endpoint sent status {self._response.status_code} and {kind} instead of an answer: {text}"
        return ProviderFailure("NoAnswer", FailureKind.PROTOCOL, text=message[:MAX_TEXT])


def _read_error_text(text: str) -> Any:
    """Return the value of an event with the name ``error``, whose data is often not JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) and value.get("error") else {"error": value}


class _Lines:
    """A splitter of bytes into lines, at CR, LF and CRLF."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_after_return = False
        self._is_first = True

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that ``piece`` completes, without their ends and without a byte order mark."""
        start = 0
        for end in _LINE_END.finditer(piece):
            is_rest = self._is_after_return and end.start() == start and end[0] == b"\n"
            self._is_after_return = False
            if not is_rest:
                self._line += piece[start : end.start()]
                yield self._take_line()
            start = end.end()
            self._is_after_return = end[0] == b"\r"
        if start < len(piece):
            self._line += piece[start:]
            self._is_after_return = False

    def end(self) -> Iterator[bytes]:
        """Yield the last line, if no line end follows it."""
        if self._line:
            yield self._take_line()

    def _take_line(self) -> bytes:
        """Return and clear the current line, without the byte order mark of the first one."""
        line = bytes(self._line)
        self._line.clear()
        if self._is_first:
            self._is_first, line = False, line.removeprefix(codecs.BOM_UTF8)
        return line
