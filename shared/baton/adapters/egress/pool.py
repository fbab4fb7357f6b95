"""The connection pool under both client libraries. It connects only to allowed addresses, and limits responses.

A connection is made to exactly the address that was checked.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import httpcore2

from baton.domain.json_values import ValueCount
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused, ResponseTooLarge

if TYPE_CHECKING:
    import httpx
    import httpx2

MAX_RESPONSE_BYTES = 10 * 1024 * 1024
"""The maximum size of a response, in bytes, unless the caller of ``make_http_client`` chooses another."""
MAX_RESPONSE_VALUES = 250_000
"""The maximum number of JSON values of an answer, or of one event of a stream. Parsing them takes about 50 ms."""
JSON_UNIT = "JSON values"
"""The unit in errors about ``MAX_RESPONSE_VALUES``."""
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)|text/json", re.IGNORECASE)
_EVENTS = "text/event-stream"

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""A function that returns all addresses of a host for a port, best first. It may raise ``OSError``."""

MAX_ADDRESSES = 8
"""The maximum number of a host's addresses that are used."""
ATTEMPT_SECONDS = 3.0
"""Seconds for connecting to an address before the next one is tried."""

S = TypeVar("S")


async def limit_bytes(
    parts: AsyncIterable[bytes], limit: int, too_large: type[ResponseTooLarge] = ResponseTooLarge
) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` as they arrive. Raises ``too_large`` once they have more than ``limit`` bytes in total."""
    received_bytes = 0
    async for part in parts:
        received_bytes += len(part)
        if received_bytes > limit:
            raise too_large(limit)
        yield part


async def limit_json_values(
    parts: AsyncIterable[bytes], headers: Iterable[tuple[bytes, bytes]], too_large: type[ResponseTooLarge]
) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` as they arrive. Raises ``too_large`` after ``MAX_RESPONSE_VALUES`` in an answer or an event.

    Only content that ``headers`` declare as JSON or as an event stream is counted.
    """
    content_type = next((value for name, value in headers if name.lower() == b"content-type"), b"").decode("latin-1")
    essence = content_type.partition(";")[0].strip().lower()
    are_events = essence == _EVENTS
    is_counted = are_events or _JSON.fullmatch(essence) is not None
    values = ValueCount()
    async for part in parts:
        lines = part.split(b"\n") if are_events else [part]
        for number, line in enumerate(lines if is_counted else ()):
            if number:  # a new line is a new event, because the JSON of events has no line ends
                values = ValueCount()
            if values.add(line) > MAX_RESPONSE_VALUES:
                raise too_large(MAX_RESPONSE_VALUES, JSON_UNIT)
        yield part


def check_encoding(headers: Iterable[tuple[bytes, bytes]], host: str, refused: type[EgressRefused]) -> None:
    """Raise ``refused`` for a compressed response, because decompression could fill the memory.

    Requests ask for ``identity``. The error names ``host``.
    """
    for name, value in headers:
        encoding = value.decode("latin-1").strip().lower()
        if name.lower() == b"content-encoding" and encoding not in ("", "identity"):
            raise refused(f"{host} answers compressed ({encoding[:20]}) although it was asked not to.")


# Below this level httpcore2 logs URLs including their queries, and at level DEBUG also headers.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Errors:
    """The error classes that users of one client library catch."""

    library: ModuleType
    """The library. For each error of httpcore2 it has a class of the same name."""
    refused: type[EgressRefused]
    too_large: type[ResponseTooLarge]


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    url: httpx.URL | httpx2.URL
    headers: Sequence[tuple[bytes, bytes]]
    body: Any
    extensions: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and headers of a response, and its unread body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: GuardedBody
    extensions: dict[str, Any]


class GuardedPool:
    """A pool of connections to permitted hosts. Failures and refusals are raised as the classes of ``errors``."""

    def __init__(
        self, policy: EgressPolicy, max_response_bytes: int, tls: ssl.SSLContext, resolve: Resolver, errors: Errors
    ) -> None:
        self._policy = policy
        self._max_response_bytes = max_response_bytes
        self._errors = errors
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls, max_connections=20, network_backend=_Backend(policy, resolve)
        )

    async def send(self, call: Call) -> Answer:
        """Send the request and return the response with an unread body, which the caller must close.

        Raises the refusals and errors of the client library.
        """
        url = call.url
        headers = [pair for pair in call.headers if pair[0].lower() != b"accept-encoding"]
        with _raise_errors_of(self._errors):
            if url.userinfo:
                # Otherwise the author of a card, a document or a redirect would choose Baton's credentials.
                raise EgressRefused(f"{url.host} must be called without a user name or password in its address.")
            self._policy.check_scheme(url.scheme, url.host)
            self._policy.check_host(url.raw_host.decode("ascii"))
            response = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=call.method,
                    url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=[*headers, (b"Accept-Encoding", b"identity")],
                    content=call.body,
                    extensions=call.extensions,
                )
            )
        assert isinstance(response.stream, AsyncIterable)  # noqa: S101 - the pool is an async one
        body = GuardedBody(response.stream, response.headers, self._max_response_bytes, self._errors)
        try:
            check_encoding(response.headers, url.host, self._errors.refused)
        except EgressRefused:
            await body.aclose()
            raise
        return Answer(response.status, response.headers, body, dict(response.extensions))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


@dataclass(frozen=True, slots=True)
class GuardedBody:
    """The parts of a response body, up to the limits in bytes and in JSON values."""

    parts: AsyncIterable[bytes]
    headers: Iterable[tuple[bytes, bytes]]
    limit: int
    errors: Errors

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _raise_errors_of(self.errors):
            within = limit_bytes(self.parts, self.limit, self.errors.too_large)
            async for part in limit_json_values(within, self.headers, self.errors.too_large):
                yield part

    async def aclose(self) -> None:
        """Return the connection to the pool."""
        if hasattr(self.parts, "aclose"):
            await self.parts.aclose()


async def resolve_addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host by the system's resolver, best first. Raises ``OSError``."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


async def connect(
    policy: EgressPolicy,
    resolve: Resolver,
    host: str,
    port: int,
    timeout: float | None,  # noqa: ASYNC109 - passed on from the backend's interface
    open_to: Callable[[str, float | None], Awaitable[S]],
) -> S:
    """Open a connection to ``host`` with ``open_to(address, seconds)``, at an address that ``policy`` allows.

    ``timeout`` is in seconds, for resolving the name and for up to ``MAX_ADDRESSES`` addresses together; with None, the
    name and the last address have no limit. Raises ``EgressRefused`` if the host or one of these addresses is
    forbidden, because a name with internal and external addresses is an attack or a mistake; ``OSError`` for a name
    without addresses; ``TimeoutError`` for one that resolves too slowly; and otherwise the error of the last address.
    """
    policy.check_host(host)
    deadline = None if timeout is None else time.monotonic() + timeout
    async with asyncio.timeout(timeout):
        addresses = (await resolve(host, port))[:MAX_ADDRESSES]
    if not addresses:
        raise OSError(f"{host} has no address")
    for address in addresses:
        policy.check_address(host, address)
    for address in addresses[:-1]:
        try:
            return await open_to(address, _limit_seconds(ATTEMPT_SECONDS, deadline))
        except EgressRefused:
            raise
        except Exception:  # noqa: BLE001, S112 - after any error, another address is left
            continue
    return await open_to(addresses[-1], _limit_seconds(None, deadline))


def _limit_seconds(seconds: float | None, deadline: float | None) -> float | None:
    """Return ``seconds``, or the seconds until ``deadline`` if they are fewer; None if both are None."""
    seconds_left = None if deadline is None else max(0.0, deadline - time.monotonic())
    return min((limit for limit in (seconds, seconds_left) if limit is not None), default=None)


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
            return await connect(self._policy, self._resolve, host, port, timeout, open_to)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise EgressRefused("Only hosts of the network can be called.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


@contextmanager
def _raise_errors_of(errors: Errors) -> Iterator[None]:
    """Raise httpcore2's errors and refusals as the classes of a client library."""
    try:
        yield
    except (errors.refused, errors.too_large):
        raise
    except EgressRefused as error:
        raise errors.refused(str(error)) from None
    except Exception as error:
        for kind in type(error).__mro__:
            same_name = (
                getattr(errors.library, kind.__name__, None) if kind.__module__.startswith("httpcore2") else None
            )
            if same_name is not None:
                raise same_name(str(error)) from error
        raise
