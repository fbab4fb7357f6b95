"""The guard under httpx: a network backend for httpcore, and the transport that uses it."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpcore
import httpx

from baton.adapters.egress import resolving
from baton.adapters.egress.limits import capped, check_encoding
from baton.adapters.egress.resolving import Resolver
from baton.domain.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

# They log addresses with what stands in their queries, and headers when they debug.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Refused(EgressRefused, httpx.ConnectError):
    """As httpx's users expect it."""


class TooLarge(ResponseTooLarge, httpx.ReadError):
    """As httpx's users expect it."""


def client(
    policy: EgressPolicy, timeout_seconds: float, limit: int, tls: ssl.SSLContext | None, resolve: Resolver
) -> httpx.AsyncClient:
    """See ``egress.http_client``."""
    return httpx.AsyncClient(
        transport=_Transport(policy, limit, tls or _public_authorities(), resolve),
        timeout=timeout_seconds,
        trust_env=False,
        follow_redirects=False,
    )


@cache
def _public_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


class _Backend(httpcore.AsyncNetworkBackend):
    def __init__(self, policy: EgressPolicy, resolve: Resolver) -> None:
        self._policy = policy
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        async def open_to(address: str, seconds: float | None) -> httpcore.AsyncNetworkStream:
            return await self._network.connect_tcp(address, port, seconds, local_address, socket_options)

        try:
            return await resolving.connect(self._policy, self._resolve, host, port, timeout, open_to)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        raise EgressRefused("Only hosts of the network can be called.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, policy: EgressPolicy, limit: int, tls: ssl.SSLContext, resolve: Resolver) -> None:
        self._policy = policy
        self._limit = limit
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls, max_connections=20, network_backend=_Backend(policy, resolve)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        with _told_as_httpx():
            self._policy.check_scheme(url.scheme, url.host)
            self._policy.check_host(url.raw_host.decode("ascii"))
            request.headers["Accept-Encoding"] = "identity"
            answer = await self._pool.handle_async_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        assert isinstance(answer.stream, AsyncIterable)  # noqa: S101 - the pool is an async one
        body = _Body(answer.stream, self._limit)
        response = httpx.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)
        try:
            check_encoding(response.headers, url.host, Refused)
        except Refused:
            await body.aclose()
            raise
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, parts: AsyncIterable[bytes], limit: int) -> None:
        self._parts = parts
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _told_as_httpx():
            async for part in capped(self._parts, self._limit, TooLarge):
                yield part

    async def aclose(self) -> None:
        if hasattr(self._parts, "aclose"):
            await self._parts.aclose()


@contextmanager
def _told_as_httpx() -> Iterator[None]:
    """Give httpcore's errors, and a refusal, the names under which httpx's users catch them."""
    try:
        yield
    except httpx.TransportError:
        raise
    except EgressRefused as error:
        raise Refused(str(error)) from None
    except Exception as error:
        for kind in type(error).__mro__:
            told = getattr(httpx, kind.__name__, None) if kind.__module__.startswith("httpcore") else None
            if told is not None:
                raise told(str(error)) from error
        raise
