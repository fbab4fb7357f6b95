"""Limits on the size of a model endpoint's responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2

from baton.adapters.stream_limits import StreamLimits, iterated, metered

LIMITS = StreamLimits(stream_bytes=64 * 1024 * 1024, event_bytes=4 * 1024 * 1024, event_values=10_000)
"""Models send a few tokens in an event of 250 bytes, which is sixty times as many bytes as text. An event may contain a
whole answer with every character escaped."""
EMBEDDING_LIMITS = StreamLimits(stream_bytes=16 * 1024 * 1024, event_bytes=16 * 1024 * 1024, event_values=300_000)
"""64 vectors of 4,096 numbers are one event. Endpoints that do not know base64 write each number as text."""
MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error's body that are read. The log keeps 500 characters."""


async def limit_response(response: httpx2.Response, limits: StreamLimits = LIMITS) -> None:
    """Apply the limits to a response. This is an event hook of the client."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        await stream.aclose()
        raise httpx2.DecodingError("The endpoint answers compressed although it was asked not to.")
    response.stream = _Refusal(stream) if response.status_code >= 400 else _Metered(stream, limits)


class _Metered(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limits: StreamLimits) -> None:
        self._stream = stream
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(metered(self._stream, self._limits)) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Refusal(httpx2.AsyncByteStream):
    """The beginning of an error's body."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = MAX_ERROR_BYTES
        async with iterated(self._stream) as pieces:
            async for piece in pieces:
                yield piece[:room]
                room -= len(piece)
                if room <= 0:
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()
