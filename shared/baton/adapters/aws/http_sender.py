"""Sends the requests of boto3's clients with the standard library's ``http.client``.

botocore sends with urllib3, which is general: pools per proxy, redirects, retries, streams. That takes half of the CPU
time of a small request. botocore lets a handler of its event ``before-send`` answer instead. Everything before and
after stays botocore's: serialisation, signing, retries, parsing and errors.
"""

from __future__ import annotations

import ssl
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies
from urllib3.util import wait_for_read

from baton.adapters.aws.session import own_session

Origin = tuple[str, str, int | None]
"""Scheme, host and port."""


def send_directly(client: Any) -> None:
    """Let the boto3 ``client`` send with ``http.client`` what this module can send.

    botocore continues sending the rest: requests with a streamed body or answer, and everything through a proxy or with
    a certificate of the client's own.
    """
    config: Any = client.meta.config  # its attributes are not declared
    if not is_direct(client):
        return
    sender = DirectSender(config.connect_timeout, config.read_timeout, config.max_pool_connections)
    # The last one, because handlers for single operations may raise an error instead of sending.
    client.meta.events.register_last("before-send", sender.send, unique_id="baton-direct")


def is_direct(client: Any) -> bool:
    """Return whether the boto3 ``client`` reaches its endpoint without a proxy and without a client certificate."""
    config: Any = client.meta.config
    return not (config.proxies or config.client_cert or get_environ_proxies(client.meta.endpoint_url))


class DirectSender:
    """A sender of HTTP requests over connections that it keeps. Threads may share it."""

    def __init__(self, connect_seconds: float, read_seconds: float, kept: int) -> None:
        """``kept`` connections to each origin stay open between requests."""
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._kept = kept
        self._idle: dict[Origin, deque[HTTPConnection]] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._idle)

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        """Return the answer to the request, or None if botocore is to send it.

        Raises botocore's errors of connections, which its retries know.
        """
        body = request.body
        if isinstance(request, ShownRequest) or request.stream_output:
            return None
        if not (body is None or isinstance(body, bytes | str)):
            return None
        url, origin = urlsplit(request.url), origin_of(request.url)
        target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        connection = take_open(self._idle.get(origin)) or self._connect(origin, request.url)
        may_be_kept = False
        try:
            connection.request(
                request.method,
                target,
                body.encode() if isinstance(body, str) else body,
                dict(request.headers.items()),
            )
            with connection.getresponse() as response:
                if response.length is None and not response.chunked:
                    raise HTTPException("the answer has no length: nobody can tell whether it is whole")
                content = response.read()
            may_be_kept = not response.will_close
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        except ssl.SSLError as error:
            raise SSLError(endpoint_url=request.url, error=error) from error
        except (OSError, HTTPException) as error:
            raise ConnectionClosedError(endpoint_url=request.url, error=error, request=request) from error
        finally:
            if may_be_kept:
                self._keep(origin, connection)
            else:
                connection.close()
        fields: Any = response.getheaders()  # which its headers take as well, and much faster than a mapping
        return AWSResponse(request.url, response.status, fields, Content(content))

    def _connect(self, origin: Origin, url: str) -> HTTPConnection:
        connection = connect(origin, url, self._connect_seconds)
        connection.sock.settimeout(self._read_seconds)
        return connection

    def _keep(self, origin: Origin, connection: HTTPConnection) -> None:
        idle = self._idle.get(origin)
        if idle is None:
            with self._lock:
                idle = self._idle.setdefault(origin, deque())
        if len(idle) < self._kept:
            idle.append(connection)
        else:
            connection.close()


def origin_of(url: str) -> Origin:
    """Return the origin of an endpoint's URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None  # noqa: S101 - botocore has checked the endpoint
    return parts.scheme, parts.hostname, parts.port


def take_open(idle: deque[HTTPConnection] | None) -> HTTPConnection | None:
    """Remove and return the connection that was used last, of those that the server has not closed since."""
    while idle:
        try:
            connection = idle.pop()
        except IndexError:  # another thread took it
            return None
        # A closed connection can be read, and nothing else may come before the next request.
        if not wait_for_read(connection.sock, timeout=0):
            return connection
        connection.close()
    return None


def connect(origin: Origin, url: str, seconds: float) -> HTTPConnection:
    """Return a new connection. Blocks for at most ``seconds``. Raises botocore's errors of connections."""
    scheme, host, port = origin
    connection = (
        _SecureRequests(host, port, timeout=seconds, context=verification())
        if scheme == "https"
        else _WholeRequests(host, port, timeout=seconds)
    )
    try:
        connection.connect()
    except TimeoutError as error:
        raise ConnectTimeoutError(endpoint_url=url, error=error) from error
    except ssl.SSLError as error:
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise EndpointConnectionError(endpoint_url=url, error=error) from error
    return connection


class ShownRequest(AWSPreparedRequest):
    """A request that handlers of ``before-send`` may answer, and that its caller sends otherwise."""


class _WholeRequests(HTTPConnection):
    """A connection that sends headers and body together: one system call, and mostly one packet."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unsent: list[bytes] = []

    def send(self, data: bytes) -> None:  # type: ignore[override]  # callers in this module send bytes only
        self._unsent.append(data)

    def getresponse(self) -> HTTPResponse:
        unsent, self._unsent = self._unsent, []
        super().send(b"".join(unsent))
        return super().getresponse()


class _SecureRequests(_WholeRequests, HTTPSConnection):
    """The same over TLS."""


@dataclass(frozen=True, slots=True)
class Content:
    """The body of an answer, as ``AWSResponse`` reads it."""

    content: bytes

    def stream(self) -> Iterator[bytes]:
        yield self.content


def _close(idle: dict[Origin, deque[HTTPConnection]]) -> None:
    for connections in idle.values():
        for connection in connections:
            connection.close()


@cache
def verification() -> ssl.SSLContext:
    """Return what trusts the certificates that botocore trusts."""
    bundle = own_session().get_config_variable("ca_bundle")
    return ssl.create_default_context(cafile=bundle or get_cert_path(verify=True))
