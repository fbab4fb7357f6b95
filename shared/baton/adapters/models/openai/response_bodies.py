"""Limits on the size of a model endpoint's responses."""

from __future__ import annotations

import httpx2

from baton.adapters.egress.stream_limits import ClosableIterator, MeteredIterator, StreamLimits

LIMITS = StreamLimits(
    stream_bytes=64 * 1024 * 1024, event_bytes=4 * 1024 * 1024, event_values=10_000, are_per_line=True
)
"""Models send a few tokens in an event of 250 bytes, which is sixty times as many bytes as text. An event may contain a
whole answer with every character escaped. Some endpoints put no empty lines between events (``AnswerBody``)."""
RESPONSES_LIMITS = StreamLimits(
    stream_bytes=64 * 1024 * 1024, event_bytes=8 * 1024 * 1024, event_values=100_000, are_per_line=True
)
"""The Responses API repeats the request's tools, with their schemas, in its first two events and in the last one, and
the whole answer in the last one."""
EMBEDDING_LIMITS = StreamLimits(stream_bytes=16 * 1024 * 1024, event_bytes=16 * 1024 * 1024, event_values=300_000)
"""64 vectors of 4,096 numbers are one event. Endpoints that do not know base64 write each number as text."""
MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error's body that are read. The log keeps 500 characters."""


async def limit_answer(response: httpx2.Response) -> None:
    """Apply the limits of the API that was asked to a response. This is an event hook of the client."""
    is_responses = response.request.url.path.endswith("/responses")
    await limit_response(response, RESPONSES_LIMITS if is_responses else LIMITS)


async def limit_response(response: httpx2.Response, limits: StreamLimits = LIMITS) -> None:
    """Apply the limits to a response. This is an event hook of the client."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        await stream.aclose()
        raise httpx2.DecodingError("The endpoint answers compressed although it was asked not to.")
    response.stream = _Beginning(stream) if response.status_code >= 400 else _Metered(stream, limits)


class _Metered(MeteredIterator, httpx2.AsyncByteStream):
    """A body that is read through limits."""


class _Beginning(ClosableIterator, httpx2.AsyncByteStream):
    """The first ``MAX_ERROR_BYTES`` of a body, and no more."""

    _room = MAX_ERROR_BYTES

    async def __anext__(self) -> bytes:
        if self._room <= 0:
            raise StopAsyncIteration
        piece = await super().__anext__()
        room, self._room = self._room, self._room - len(piece)
        return piece[:room]
