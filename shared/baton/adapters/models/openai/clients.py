"""Clients of an OpenAI-compatible endpoint, one for each event loop: access, and limits of responses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx2 as httpx
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

from baton.adapters.egress.stream_limits import ClosableIterator, MeteredIterator, StreamLimits

if TYPE_CHECKING:
    from baton.adapters.aws.session import CredentialSource

LIMITS = StreamLimits(
    stream_bytes=64 * 1024 * 1024, event_bytes=4 * 1024 * 1024, event_values=10_000, are_per_line=True
)
"""Models send a few tokens in an event of 250 bytes, which is sixty times as many bytes as text. An event may contain a
whole answer with every character escaped. Some endpoints put no empty lines between events (``AnswerBody``)."""
RESPONSES_LIMITS = StreamLimits(
    stream_bytes=64 * 1024 * 1024, event_bytes=8 * 1024 * 1024, event_values=100_000, are_per_line=True
)
"""The limits of an answer of the Responses API. Its first two events and its last event repeat the request's tools with
their schemas. The last event also repeats the whole answer."""
EMBEDDING_LIMITS = StreamLimits(stream_bytes=16 * 1024 * 1024, event_bytes=16 * 1024 * 1024, event_values=300_000)
"""The limits of a response with embeddings. 64 vectors of 4,096 numbers are one event, and endpoints that do not know
base64 write each number as text."""
MAX_ERROR_BYTES = 64 * 1024
"""The maximum number of bytes of an error's body that are read. The log keeps 500 characters."""


class AwsSigning:
    """The signature (Version 4) of requests to one region, with credentials that are renewed before they expire."""

    def __init__(self, session: CredentialSource, region: str) -> None:
        self._session = session
        self.region = region

    @property
    def address(self) -> str:
        """The address of the region's endpoint that serves most models."""
        return f"https://bedrock-runtime.{self.region}.amazonaws.com/openai/v1"

    def make_provider(self, base_url: str) -> Any:
        """Return the SDK's provider for this address, which signs the requests."""
        from openai.providers.bedrock import bedrock  # which loads botocore

        is_mantle = (urlsplit(base_url).hostname or "").startswith("bedrock-mantle.")
        return bedrock(
            endpoint="mantle" if is_mantle else "runtime",
            region=self.region,
            base_url=base_url,
            credential_provider=self._session.get_credentials,
        )


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
        """``limits`` apply to responses. If None, the limits of models' answers apply, by the requested API."""
        self._api_key = api_key
        self._signing = signing
        self._base_url = base_url
        self._timeout = timeout
        self._limit = limit_answer if limits is None else partial(limit_response, limits=limits)
        self._transport = transport
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def get(self) -> AsyncOpenAI:
        """Return this event loop's client, which the first call creates."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = AsyncOpenAI(
                **self._make_access(),
                max_retries=0,
                timeout=self._timeout,
                # A compressed answer may be a thousand times larger than its counted bytes.
                default_headers={"Accept-Encoding": "identity"},
                http_client=DefaultAsyncHttpxClient(
                    transport=self._transport,
                    verify=_load_trusted_authorities(),
                    event_hooks={"response": [self._limit]},
                    # A redirect could take the conversation, and on the same host the key, where no operator allowed.
                    follow_redirects=False,
                ),
            )
        return client

    @property
    def key(self) -> str:
        """The key of this event loop's last request, which logs must not show; empty before the first request."""
        client = self._clients.get(asyncio.get_running_loop())
        return client.api_key if client and self._signing is None else ""

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _make_access(self) -> dict[str, Any]:
        """Return the client's arguments for the endpoint's address and the access to it."""
        if self._signing is not None:
            return {"provider": self._signing.make_provider(self._base_url or self._signing.address)}
        return {"api_key": self._get_key, "base_url": self._base_url}

    async def _get_key(self) -> str:
        """Return the key, ``none`` without one. Raises the errors of ``api_key``."""
        key = self._api_key if isinstance(self._api_key, str) else await self._api_key()
        return key or "none"  # Endpoints without keys get a well-formed header too.


@cache
def _load_trusted_authorities() -> ssl.SSLContext:
    """Return the certificates that httpx trusts. Reading them takes 20 ms, and clients may share them."""
    return httpx.create_ssl_context()


async def limit_answer(response: httpx.Response) -> None:
    """Apply the limits of the requested API to a response, as an event hook of the client.

    Raises ``httpx.DecodingError`` for a compressed response.
    """
    is_responses = response.request.url.path.endswith("/responses")
    await limit_response(response, RESPONSES_LIMITS if is_responses else LIMITS)


async def limit_response(response: httpx.Response, limits: StreamLimits = LIMITS) -> None:
    """Apply ``limits`` to a response, as an event hook of the client. An error's body is cut at ``MAX_ERROR_BYTES``.

    Raises ``httpx.DecodingError`` for a compressed response.
    """
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        await stream.aclose()
        raise httpx.DecodingError("The endpoint answers compressed although it was asked not to.")
    response.stream = _Beginning(stream) if response.status_code >= 400 else _Metered(stream, limits)


class _Metered(MeteredIterator, httpx.AsyncByteStream):
    """A body that is read through limits."""


class _Beginning(ClosableIterator, httpx.AsyncByteStream):
    """The first ``MAX_ERROR_BYTES`` of a body."""

    _room = MAX_ERROR_BYTES

    async def __anext__(self) -> bytes:
        if self._room <= 0:
            raise StopAsyncIteration
        piece = await super().__anext__()
        room, self._room = self._room, self._room - len(piece)
        return piece[:room]
