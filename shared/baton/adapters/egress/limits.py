"""Limits on the response body that is read."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterable

from baton.domain.egress_policy import EgressRefused, ResponseTooLarge
from baton.domain.json_values import ValueCount

MAX_RESPONSE_BYTES = 10 * 1024 * 1024
MAX_RESPONSE_VALUES = 250_000
"""JSON values of an answer, or of one event of a stream. Parsing them blocks the event loop for some 50 ms."""
JSON_UNIT = "JSON values"
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)|text/json", re.IGNORECASE)
_EVENTS = "text/event-stream"


async def capped(
    parts: AsyncIterable[bytes], limit: int, too_large: type[ResponseTooLarge] = ResponseTooLarge
) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` as they come. Raises ``too_large`` once they have more than ``limit`` bytes in total."""
    read = 0
    async for part in parts:
        read += len(part)
        if read > limit:
            raise too_large(limit)
        yield part


async def with_bounded_json(
    parts: AsyncIterable[bytes], headers: Iterable[tuple[bytes, bytes]], too_large: type[ResponseTooLarge]
) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` as they come. Raises ``too_large`` once they have more JSON values than may be parsed.

    Other content than JSON, and events that hold it, is not counted.
    """
    kind = next((value for name, value in headers if name.lower() == b"content-type"), b"").decode("latin-1")
    essence = kind.partition(";")[0].strip().lower()
    are_events = essence == _EVENTS
    is_counted = are_events or _JSON.fullmatch(essence) is not None
    values = ValueCount()
    async for part in parts:
        lines = part.split(b"\n") if are_events else [part]
        for number, line in enumerate(lines if is_counted else ()):
            if number:  # no event goes on in the next line, because JSON has no line ends
                values = ValueCount()
            if values.add(line) > MAX_RESPONSE_VALUES:
                raise too_large(MAX_RESPONSE_VALUES, JSON_UNIT)
        yield part


def check_encoding(headers: Iterable[tuple[bytes, bytes]], host: str, refused: type[EgressRefused]) -> None:
    """Raise ``refused`` for a compressed response: requests ask for ``identity``, and decompression could fill memory.

    ``host`` is named in the error.
    """
    for name, value in headers:
        encoding = value.decode("latin-1").strip().lower()
        if name.lower() == b"content-encoding" and encoding not in ("", "identity"):
            raise refused(f"{host} answers compressed ({encoding[:20]}) although it was asked not to.")
