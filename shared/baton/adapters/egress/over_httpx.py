"""An httpx client over the guarded pool."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator
from functools import cache

import httpx

from baton.adapters.egress.pool import Call, Errors, GuardedBody, GuardedPool
from baton.adapters.egress.resolving import Resolver
from baton.domain.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

# Below this level httpx logs URLs including their queries.
logging.getLogger("httpx").setLevel(logging.WARNING)


class Refused(EgressRefused, httpx.ConnectError):
    """A refused call, as an error of httpx."""


class TooLarge(ResponseTooLarge, httpx.ReadError):
    """A response over the limit, as an error of httpx."""


ERRORS = Errors(httpx, Refused, TooLarge)


def client(
    policy: EgressPolicy, timeout_seconds: float, limit: int, tls: ssl.SSLContext | None, resolve: Resolver
) -> httpx.AsyncClient:
    """Return the client that ``egress.http_client`` describes."""
    pool = GuardedPool(policy, limit, tls or _public_authorities(), resolve, ERRORS)
    return httpx.AsyncClient(
        transport=_Transport(pool), timeout=timeout_seconds, trust_env=False, follow_redirects=False
    )


@cache
def _public_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, pool: GuardedPool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = Call(request.method, request.url, request.headers.raw, request.stream, request.extensions)
        answer = await self._pool.send(call)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.body), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, body: GuardedBody) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        await self._body.aclose()
