"""The guard under httpx2: a network backend for httpcore2, and the transport that uses it."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpcore2
import httpx2

from baton.adapters.egress import resolving
from baton.adapters.egress.limits import capped, check_encoding
from baton.adapters.egress.resolving import Resolver
from baton.domain.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

# They log addresses with what stands in their queries, and headers when they debug.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Refused(EgressRefused, httpx2.ConnectError):
    """As httpx2's users expect it."""


class TooLarge(ResponseTooLarge, httpx2.ReadError):
    """As httpx2's users expect it."""


def client(
    policy: EgressPolicy, timeout_seconds: float, limit: int, tls: ssl.SSLContext | None, resolve: Resolver
) -> httpx2.AsyncClient:
    """See ``egress.http_client``."""
    return httpx2.AsyncClient(
        transport=_Transport(policy, limit, tls or _public_authorities(), resolve),
        timeout=timeout_seconds,
        trust_env=False,
        follow_redirects=False,
    )


@cache
def _public_authorities() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, policy: EgressPolicy, resolve: Resolver) -> None:
        self._policy = policy
        self._resolve = resolve
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        async def open_to(address: str, seconds: float | None) -> httpcore2.AsyncNetworkStream:
            return await self._network.connect_tcp(address, port, seconds, local_address, socket_options)

        try:
            return await resolving.connect(self._policy, self._resolve, host, port, timeout, open_to)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise EgressRefused("Only hosts of the network can be called.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, policy: EgressPolicy, limit: int, tls: ssl.SSLContext, resolve: Resolver) -> None:
        self._policy = policy
        self._limit = limit
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls, max_connections=20, network_backend=_Backend(policy, resolve)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        with _told_as_httpx2():
            self._policy.check_scheme(url.scheme, url.host)
            self._policy.check_host(url.raw_host.decode("ascii"))
            request.headers["Accept-Encoding"] = "identity"
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        assert isinstance(answer.stream, AsyncIterable)  # noqa: S101 - the pool is an async one
        body = _Body(answer.stream, self._limit)
        response = httpx2.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)
        try:
            check_encoding(response.headers, url.host, Refused)
        except Refused:
            await body.aclose()
            raise
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, parts: AsyncIterable[bytes], limit: int) -> None:
        self._parts = parts
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _told_as_httpx2():
            async for part in capped(self._parts, self._limit, TooLarge):
                yield part

    async def aclose(self) -> None:
        if hasattr(self._parts, "aclose"):
            await self._parts.aclose()


@contextmanager
def _told_as_httpx2() -> Iterator[None]:
    """Give httpcore2's errors, and a refusal, the names under which httpx2's users catch them."""
    try:
        yield
    except httpx2.TransportError:
        raise
    except EgressRefused as error:
        raise Refused(str(error)) from None
    except Exception as error:
        for kind in type(error).__mro__:
            told = getattr(httpx2, kind.__name__, None) if kind.__module__.startswith("httpcore2") else None
            if told is not None:
                raise told(str(error)) from error
        raise
