"""An httpx2 client over the guarded pool."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator
from functools import cache

import httpx2

from baton.adapters.egress.pool import Call, Errors, GuardedBody, GuardedPool
from baton.adapters.egress.resolving import Resolver
from baton.domain.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

# Below this level httpx2 logs URLs including their queries.
logging.getLogger("httpx2").setLevel(logging.WARNING)


class Refused(EgressRefused, httpx2.ConnectError):
    """A refused call, as an error of httpx2."""


class TooLarge(ResponseTooLarge, httpx2.ReadError):
    """A response over the limit, as an error of httpx2."""


ERRORS = Errors(httpx2, Refused, TooLarge)


def client(
    policy: EgressPolicy, timeout_seconds: float, limit: int, tls: ssl.SSLContext | None, resolve: Resolver
) -> httpx2.AsyncClient:
    """Return the client that ``egress.http2_client`` describes."""
    pool = GuardedPool(policy, limit, tls or _public_authorities(), resolve, ERRORS)
    return httpx2.AsyncClient(
        transport=_Transport(pool), timeout=timeout_seconds, trust_env=False, follow_redirects=False
    )


@cache
def _public_authorities() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, pool: GuardedPool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = Call(request.method, request.url, request.headers.raw, request.stream, request.extensions)
        answer = await self._pool.send(call)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.body), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, body: GuardedBody) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        await self._body.aclose()
