"""Server-sent events (WHATWG HTML, section 9.2), decoded from bytes as they arrive, within a bound.

``httpx-sse`` reads lines of any length into memory, so an untrusted server could fill it.
"""

from __future__ import annotations

from collections.abc import Iterator

from baton_client.errors import UnexpectedAnswerError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""The largest size of one event. The longest that Baton sends is a snapshot of fifty messages of at most 1 MiB each."""


class EventDecoder:
    """A decoder that takes the bytes of a stream and gives the data of its events."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._rest: list[bytes] = []
        self._size = 0
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of each event that ``chunk`` completes. Raises ``UnexpectedAnswerError`` beyond the bound."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._rest.append(line)
            whole = b"".join(self._rest).removesuffix(b"\r")
            self._rest = []
            if not whole:
                self._size = 0
                if self._data:
                    yield "\n".join(self._data)
                    self._data = []
                continue
            self._count(len(line))
            name, _, value = whole.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        if rest:
            self._rest.append(rest)
            self._count(len(rest))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._max:
            raise UnexpectedAnswerError(f"An event of the stream is larger than {self._max:,} bytes.")
