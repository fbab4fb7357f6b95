"""Clients of an OpenAI-compatible endpoint, one for each event loop, and the waits between attempts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

import httpx2 as httpx
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

from baton.adapters.openai.errors import Failure, is_worth_repeating, retry_after
from baton.adapters.openai.response_limits import LIMITS, limit_response
from baton.adapters.stream_limits import StreamLimits

MAX_BACKOFF_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 20.0


class OpenAIClients:
    """The SDK's clients of one endpoint. Each is created with its event loop's first request; none retries.

    ``api_key`` may be an async callable, which is called before each request. ``transport`` carries the requests in
    place of the SDK's own.
    """

    def __init__(
        self,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None,
        timeout: float | Timeout,
        limits: StreamLimits = LIMITS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._limits = limits
        self._transport = transport
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def get(self) -> AsyncOpenAI:
        """Return this event loop's client."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                timeout=self._timeout,
                # A compressed answer may be a thousand times larger than its counted bytes.
                default_headers={"Accept-Encoding": "identity"},
                http_client=DefaultAsyncHttpxClient(
                    transport=self._transport,
                    event_hooks={"response": [partial(limit_response, limits=self._limits)]},
                ),
            )
        return client

    @property
    def key(self) -> str:
        """The key of this event loop's last request, which logs must not show; empty before the first one."""
        client = self._clients.get(asyncio.get_running_loop())
        return client.api_key if client else ""

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _key(self) -> str:
        key = self._api_key if isinstance(self._api_key, str) else await self._api_key()
        return key or "none"  # Endpoints without keys get a well-formed header too.


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits between attempts. The first one takes up to ``seconds``, each further one twice as long."""

    seconds: float

    def before_retry(self, failure: Failure, attempt: int) -> float | None:
        """Return the seconds to wait after a failed attempt, from 0; None if a retry is useless."""
        if not is_worth_repeating(failure):
            return None
        asked = retry_after(failure)
        if asked is not None:
            return asked if asked <= MAX_RETRY_AFTER_SECONDS else None
        return self.delay(attempt)

    def delay(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt, from 0, with jitter."""
        backoff = min(self.seconds * 2.0**attempt, MAX_BACKOFF_SECONDS)
        return backoff * (1 - 0.25 * random.random())  # noqa: S311 - jitter
