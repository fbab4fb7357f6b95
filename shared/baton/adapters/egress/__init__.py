"""Guarded HTTP to foreign hosts: allowed addresses only, circuit breakers, limits of streams, downloads, webhooks."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from baton.adapters.egress.pool import (
    MAX_RESPONSE_BYTES,
    Call,
    Errors,
    GuardedBody,
    GuardedPool,
    Resolver,
    resolve_addresses,
)
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = [
    "MAX_RESPONSE_BYTES",
    "EgressPolicy",
    "EgressRefused",
    "Resolver",
    "ResponseTooLarge",
    "make_http2_client",
    "make_http_client",
]


def make_http_client(
    policy: EgressPolicy,
    *,
    timeout_seconds: float = 30.0,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    tls: ssl.SSLContext | None = None,
    resolve: Resolver = resolve_addresses,
) -> httpx.AsyncClient:
    """Return a client that calls only addresses that ``policy`` allows.

    It follows redirects only if a request asks for that, and checks each of them. ``timeout_seconds`` is the longest
    silence while connecting, sending or reading. Besides httpx's own errors a request raises ``EgressRefused`` (also an
    ``httpx.ConnectError``) for an address that must not be called, and ``ResponseTooLarge`` (also an
    ``httpx.ReadError``) while reading more than ``max_response_bytes``.

    Make one client per call: that takes about a millisecond, and a frozen Lambda environment loses open connections.
    """
    async_client: httpx.AsyncClient = _make_client("httpx", policy, timeout_seconds, max_response_bytes, tls, resolve)
    return async_client


def make_http2_client(
    policy: EgressPolicy,
    *,
    timeout_seconds: float = 30.0,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    tls: ssl.SSLContext | None = None,
    resolve: Resolver = resolve_addresses,
) -> httpx2.AsyncClient:
    """Return a client like that of ``make_http_client``, with httpx2's classes and errors."""
    async_client: httpx2.AsyncClient = _make_client("httpx2", policy, timeout_seconds, max_response_bytes, tls, resolve)
    return async_client


def _make_client(
    name: str,
    policy: EgressPolicy,
    timeout_seconds: float,
    max_response_bytes: int,
    tls: ssl.SSLContext | None,
    resolve: Resolver,
) -> Any:
    """Return the ``AsyncClient`` of httpx or httpx2. The libraries have the same API under two names."""
    library, errors, transport = _load(name)
    pool = GuardedPool(policy, max_response_bytes, tls or _make_tls_context(name), resolve, errors)
    return library.AsyncClient(
        transport=transport(pool), timeout=timeout_seconds, trust_env=False, follow_redirects=False
    )


@cache
def _load(name: str) -> tuple[Any, Errors, Any]:
    """Load the library, and return it with its errors and its transport."""
    # Below this level the library logs URLs with their queries.
    logging.getLogger(name).setLevel(logging.WARNING)
    library: Any = import_module(name)

    class Refused(EgressRefused, library.ConnectError):  # type: ignore[misc]
        """A refused call, as an error of the library."""

    class TooLarge(ResponseTooLarge, library.ReadError):  # type: ignore[misc]
        """A response over the limit, as an error of the library."""

    class Body(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, body: GuardedBody) -> None:
            self._body = body

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._body.__aiter__()

        async def aclose(self) -> None:
            await self._body.aclose()

    class Transport(library.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, pool: GuardedPool) -> None:
            self._pool = pool

        async def handle_async_request(self, request: Any) -> Any:
            call = Call(request.method, request.url, request.headers.raw, request.stream, request.extensions)
            answer = await self._pool.send(call)
            return library.Response(
                answer.status, headers=answer.headers, stream=Body(answer.body), extensions=answer.extensions
            )

        async def aclose(self) -> None:
            await self._pool.aclose()

    return library, Errors(library, Refused, TooLarge), Transport


@cache
def _make_tls_context(name: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities that a library trusts by default."""
    context: ssl.SSLContext = import_module(name).create_ssl_context(trust_env=False)
    return context
