"""Clients of an OpenAI-compatible endpoint, one for each event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import httpx2 as httpx
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

from baton.adapters.egress.stream_limits import StreamLimits
from baton.adapters.models.openai.response_bodies import limit_answer, limit_response

if TYPE_CHECKING:
    from baton.adapters.models.openai.aws_signing import AwsSigning


class OpenAIClients:
    """The SDK's clients of one endpoint. Each is created with its event loop's first request; none retries.

    ``api_key`` may be an async callable, which is called before each request. With ``signing`` there is no key:
    requests are signed. ``transport`` carries the requests in place of the SDK's own.
    """

    def __init__(
        self,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None,
        timeout: float | Timeout,
        limits: StreamLimits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        signing: AwsSigning | None = None,
    ) -> None:
        """``limits`` are those of responses; None for those of answers."""
        self._api_key = api_key
        self._signing = signing
        self._base_url = base_url
        self._timeout = timeout
        self._limit = limit_answer if limits is None else partial(limit_response, limits=limits)
        self._transport = transport
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def get(self) -> AsyncOpenAI:
        """Return this event loop's client."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = AsyncOpenAI(
                **self._access(),
                max_retries=0,
                timeout=self._timeout,
                # A compressed answer may be a thousand times larger than its counted bytes.
                default_headers={"Accept-Encoding": "identity"},
                http_client=DefaultAsyncHttpxClient(
                    transport=self._transport,
                    verify=_trusted_authorities(),
                    event_hooks={"response": [self._limit]},
                    # A redirect would take the conversation, and a key within the host, to a place nobody has named.
                    follow_redirects=False,
                ),
            )
        return client

    @property
    def key(self) -> str:
        """The key of this event loop's last request, which logs must not show; empty before the first one."""
        client = self._clients.get(asyncio.get_running_loop())
        return client.api_key if client and self._signing is None else ""

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _access(self) -> dict[str, Any]:
        """Return the client's arguments that say where the endpoint is, and what opens it."""
        if self._signing is not None:
            return {"provider": self._signing.provider(self._base_url or self._signing.address)}
        return {"api_key": self._key, "base_url": self._base_url}

    async def _key(self) -> str:
        key = self._api_key if isinstance(self._api_key, str) else await self._api_key()
        return key or "none"  # Endpoints without keys get a well-formed header too.


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Return the certificates that httpx trusts. Reading them takes 20 ms, and clients may share them."""
    return httpx.create_ssl_context()
