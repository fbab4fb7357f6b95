"""Prepare HTTP clients for remote agents: limit credentials to one origin and answers in size."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from baton.adapters.stream_limits import MeteredIterator, StreamLimits, StreamTooLong
from baton.ports.agent_client import AgentFailed

LIMITS = StreamLimits(stream_bytes=8 * 1024 * 1024, event_bytes=2 * 1024 * 1024, event_values=10_000)
"""The limits of one response or stream. Events are parsed by Python code, value by value."""
CONNECT_SECONDS = 5.0


def prepare(client: httpx.AsyncClient, home: str, credentials: Mapping[str, str], silence_seconds: float) -> None:
    """Configure ``client`` for requests to a remote agent.

    ``credentials`` (headers) are sent to the origin of ``home`` only, whatever addresses the agent's card contains.
    ``silence_seconds`` is the read timeout. Reading a response that is too large raises ``AgentFailed``.
    """
    origin = httpx.URL(home)

    async def keep_credentials_at_home(request: httpx.Request) -> None:
        if origin.scheme == "https" and request.url.scheme != "https":
            raise AgentFailed("The agent's card names an address without encryption.")
        if _origin(request.url) == _origin(origin):
            request.headers.update(credentials)

    client.event_hooks = {
        "request": [*client.event_hooks["request"], keep_credentials_at_home],
        "response": [*client.event_hooks["response"], _limit],
    }
    # A compressed answer may be a thousand times larger than its counted bytes.
    client.headers["Accept-Encoding"] = "identity"
    client.timeout = httpx.Timeout(silence_seconds, connect=min(CONNECT_SECONDS, silence_seconds))
    client.follow_redirects = False


def same_origin(address: str, home: str) -> bool:
    """Return whether both addresses have one origin. Raises ``httpx.InvalidURL``."""
    return _origin(httpx.URL(address)) == _origin(httpx.URL(home))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx leaves default ports out


async def _limit(response: httpx.Response) -> None:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise AgentFailed("The agent's answer is compressed, which was not asked for.")
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    response.stream = _Limited(response.stream, LIMITS)


class _Limited(MeteredIterator, httpx.AsyncByteStream):
    """A body that is read through limits."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StreamTooLong:
            raise AgentFailed("The agent sends more than anybody would read.") from None
