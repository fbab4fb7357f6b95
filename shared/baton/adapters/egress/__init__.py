"""Guarded HTTP to hosts of others: allowed addresses only, circuit breakers, limits, web pages, webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.adapters.egress.pool import MAX_RESPONSE_BYTES, Resolver, addresses_of
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

if TYPE_CHECKING:
    import ssl

    import httpx
    import httpx2

__all__ = [
    "MAX_RESPONSE_BYTES",
    "EgressPolicy",
    "EgressRefused",
    "Resolver",
    "ResponseTooLarge",
    "http2_client",
    "http_client",
]


def http_client(
    policy: EgressPolicy,
    *,
    timeout_seconds: float = 30.0,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    tls: ssl.SSLContext | None = None,
    resolve: Resolver = addresses_of,
) -> httpx.AsyncClient:
    """Return a client that calls only what ``policy`` allows.

    It follows redirects only if a request asks for that, and checks each of them. Besides httpx's own errors a request
    raises ``EgressRefused`` (also an ``httpx.ConnectError``) for an address that must not be called, and
    ``ResponseTooLarge`` (also an ``httpx.ReadError``) while reading. ``timeout_seconds`` is the longest silence while
    connecting, sending or reading. Make one client per call: that takes about a millisecond, and a frozen Lambda
    environment loses its open connections.
    """
    from baton.adapters.egress.clients import client

    async_client: httpx.AsyncClient = client("httpx", policy, timeout_seconds, max_response_bytes, tls, resolve)
    return async_client


def http2_client(
    policy: EgressPolicy,
    *,
    timeout_seconds: float = 30.0,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    tls: ssl.SSLContext | None = None,
    resolve: Resolver = addresses_of,
) -> httpx2.AsyncClient:
    """Return a client like that of ``http_client``, with httpx2's classes and errors."""
    from baton.adapters.egress.clients import client

    async_client: httpx2.AsyncClient = client("httpx2", policy, timeout_seconds, max_response_bytes, tls, resolve)
    return async_client
