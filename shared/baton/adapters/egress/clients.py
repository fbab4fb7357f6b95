"""Clients of httpx and of httpx2 over the guarded pool. The libraries have the same API under two names."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator
from functools import cache
from importlib import import_module
from typing import Any, Literal

from baton.adapters.egress.pool import Call, Errors, GuardedBody, GuardedPool, Resolver
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge


def client(
    name: Literal["httpx", "httpx2"],
    policy: EgressPolicy,
    timeout_seconds: float,
    limit: int,
    tls: ssl.SSLContext | None,
    resolve: Resolver,
) -> Any:
    """Return the library's ``AsyncClient`` that ``egress.http_client`` describes."""
    library, errors, transport = _of(name)
    pool = GuardedPool(policy, limit, tls or _public_authorities(name), resolve, errors)
    return library.AsyncClient(
        transport=transport(pool), timeout=timeout_seconds, trust_env=False, follow_redirects=False
    )


@cache
def _of(name: str) -> tuple[Any, Errors, Any]:
    """Load the library, and return it with its errors and its transport."""
    # Below this level it logs URLs including their queries.
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
def _public_authorities(name: str) -> ssl.SSLContext:
    context: ssl.SSLContext = import_module(name).create_ssl_context(trust_env=False)
    return context
