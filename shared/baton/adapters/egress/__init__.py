"""The only way out: HTTP clients that reach what the deployment allows and nothing inside its network.

``http_client`` speaks through httpx, ``http2_client`` through httpx2 (the MCP client's library, the same API under
another name; neither has to do with HTTP/2). Under both is the same ``GuardedPool``. Nothing is loaded before it is
used: settings and light functions may import the policy's module alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.adapters.egress.limits import MAX_RESPONSE_BYTES
from baton.adapters.egress.resolving import Resolver, addresses_of
from baton.domain.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

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
    """Return a client for what ``policy`` allows. It follows no redirects unless told to, and then checks each of them.

    Besides httpx's own errors a request raises ``EgressRefused`` (an ``httpx.ConnectError`` too) for an address that
    must not be called, and ``ResponseTooLarge`` (an ``httpx.ReadError`` too) while reading. ``timeout_seconds`` is
    the longest silence of connecting, sending and reading. Make one per call: it takes about a millisecond, and
    connections kept by a frozen Lambda environment are dead when it wakes.
    """
    from baton.adapters.egress.over_httpx import client

    return client(policy, timeout_seconds, max_response_bytes, tls, resolve)


def http2_client(
    policy: EgressPolicy,
    *,
    timeout_seconds: float = 30.0,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    tls: ssl.SSLContext | None = None,
    resolve: Resolver = addresses_of,
) -> httpx2.AsyncClient:
    """As ``http_client``, with httpx2's classes and errors."""
    from baton.adapters.egress.over_httpx2 import client

    return client(policy, timeout_seconds, max_response_bytes, tls, resolve)
