"""HTTP/1.1 requests over persistent connections, sent by the event loop itself and not by a thread.

asyncio's streams belong to one loop, and notice only at its next round that a connection was closed while the process
was frozen. These connections are plain sockets: any loop may use an idle one, which is checked right before its use.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import weakref
from collections import deque
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.httpsession import get_cert_path
from urllib3.util import wait_for_read

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.aws.session import get_own_session

PIECE = 256 * 1024
"""The maximum number of bytes that one read returns."""
MAX_HEAD = 64 * 1024
"""The maximum size of an answer's status and headers, in bytes."""
_WOULD_BLOCK = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP response with its complete body."""

    status: int
    headers: dict[str, str]
    """The headers by their names in lower case."""
    body: bytes
    is_last: bool
    """Whether the server closes the connection after this response."""


class OriginConnections:
    """Connections to one origin. Event loops and threads may share them."""

    def __init__(self, url: str, *, connect_seconds: float, read_seconds: float, max_idle: int) -> None:
        """``max_idle`` connections stay open between requests.

        Each connection must be made within ``connect_seconds``, and a part of an answer must arrive every
        ``read_seconds``.
        """
        self._url = url
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._max_idle = max_idle
        self._idle: deque[socket.socket] = deque()
        weakref.finalize(self, _close_all, self._idle)

    async def send(self, request: bytes, *, seconds: float) -> HttpAnswer:
        """Send a request and return its answer.

        ``seconds`` limits connecting, and the wait for each part of the answer. Raises botocore's connection errors,
        which botocore's retries handle. If the caller is cancelled, the request may still take effect.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        connection = self._take_idle() or await self._connect(seconds)
        may_reuse = False
        try:
            remaining = max(0.0, deadline - loop.time())
            answer = await _Exchange(connection, request, min(remaining, self._read_seconds)).run()
            may_reuse = not answer.is_last and len(self._idle) < self._max_idle
        except TimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except ssl.SSLError as error:
            raise exceptions.SSLError(endpoint_url=self._url, error=error) from error
        except (OSError, HTTPException) as error:
            raise exceptions.ConnectionClosedError(endpoint_url=self._url, error=error) from error
        finally:
            if may_reuse:
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    def _take_idle(self) -> socket.socket | None:
        """Remove and return the most recently used idle connection that is still open; None without one."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                return None
            # Only the end of a closed connection can be read before the next request.
            if not wait_for_read(connection, timeout=0):
                return connection
            connection.close()
        return None

    async def _connect(self, seconds: float) -> socket.socket:
        # In a thread, because DNS and TLS block. ``seconds`` includes the wait for a thread.
        connecting = aws.start(_open_connection, self._url, self._connect_seconds)
        try:
            async with asyncio.timeout(seconds):
                connection = await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_close_result)
            raise
        except TimeoutError as error:
            connecting.add_done_callback(_close_result)
            raise exceptions.ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        connection.setblocking(False)  # noqa: FBT003 - the standard library's own
        return connection


def _open_connection(url: str, seconds: float) -> socket.socket:
    """Return a new connection. Raises botocore's connection errors.

    ``seconds`` limits connecting to each address of the host, and each wait of the TLS handshake.
    """
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    try:
        certificates = make_certificate_context() if is_secure else None
        address = (parts.hostname, parts.port or (443 if is_secure else 80))
        connection = socket.create_connection(address, timeout=seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if certificates is None:
            return connection
        return certificates.wrap_socket(connection, server_hostname=parts.hostname)
    except TimeoutError as error:
        raise exceptions.ConnectTimeoutError(endpoint_url=url, error=error) from error
    except ssl.SSLError as error:
        raise exceptions.SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise exceptions.EndpointConnectionError(endpoint_url=url, error=error) from error


@cache
def make_certificate_context() -> ssl.SSLContext:
    """Return a TLS context that trusts the same certificates as botocore. The process shares one."""
    bundle = get_own_session().get_config_variable("ca_bundle")
    return ssl.create_default_context(cafile=bundle or get_cert_path(verify=True))


def _close_all(idle: deque[socket.socket]) -> None:
    for connection in idle:
        connection.close()


def _close_result(connecting: asyncio.Future[socket.socket]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close()


class _Exchange:
    """One request and its answer over one connection."""

    def __init__(self, connection: socket.socket, request: bytes, seconds: float) -> None:
        """``seconds`` is the longest time without a byte of the answer."""
        self._loop = asyncio.get_running_loop()
        self._socket = connection
        self._unsent = memoryview(request)
        self._seconds = seconds
        self._parser = _AnswerParser()
        self._answer: asyncio.Future[HttpAnswer] = self._loop.create_future()
        self._has_writer = False

    async def run(self) -> HttpAnswer:
        """Send the request and return the answer. Raises ``OSError`` and ``HTTPException``."""
        loop, descriptor = self._loop, self._socket.fileno()
        loop.add_reader(descriptor, self._read)
        self._last_read_at = loop.time()
        self._timer = loop.call_later(self._seconds, self._check_time)
        try:
            self._write()
            return await self._answer
        finally:
            self._timer.cancel()
            loop.remove_reader(descriptor)
            if self._has_writer:
                loop.remove_writer(descriptor)

    def _write(self) -> None:
        """Send as much of the request as the socket takes, and the rest when the socket takes more."""
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except _WOULD_BLOCK:
            pass  # the rest is sent when the socket takes more
        except OSError as error:
            self._fail(error)
            return
        if self._unsent and not self._has_writer:
            self._has_writer = True
            self._loop.add_writer(self._socket.fileno(), self._write)
        elif not self._unsent and self._has_writer:
            self._has_writer = False
            self._loop.remove_writer(self._socket.fileno())

    def _read(self) -> None:
        """Read the bytes that have arrived, and end the exchange with the complete answer or an error."""
        try:
            while not self._answer.done():
                piece = self._socket.recv(PIECE)
                if not piece:
                    raise HTTPException("the connection was closed before the answer was complete")
                answer = self._parser.take(piece)
                if answer is not None and not self._answer.done():
                    self._answer.set_result(answer)
        except _WOULD_BLOCK:
            self._last_read_at = self._loop.time()
        except (OSError, HTTPException, ValueError) as error:
            self._fail(error if not isinstance(error, ValueError) else HTTPException("the answer is not HTTP"))

    def _check_time(self) -> None:
        """End the exchange if no byte has come for too long."""
        remaining = self._last_read_at + self._seconds - self._loop.time()
        if remaining <= 0 and not wait_for_read(self._socket, timeout=0):
            self._fail(TimeoutError("no answer came in time"))
            return
        # If bytes can be read, the server has answered while the process was frozen.
        self._timer = self._loop.call_later(max(0.0, remaining), self._check_time)

    def _fail(self, error: Exception) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)


class _AnswerParser:
    """The parser of one answer, which arrives in pieces."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._version = ""
        self._position = 0
        self._chunks: list[bytes] = []

    def take(self, piece: bytes) -> HttpAnswer | None:
        """Add a piece, and return the answer if it is complete. Raises ``HTTPException`` and ``ValueError``."""
        self._bytes += piece
        while self._status is None or self._status < 200:  # informational answers precede the final one
            if not self._read_head():
                return None
        if self._headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = self._headers.get("content-length")
        if length is None:
            raise HTTPException("the answer has no length, so that its end is unknown")
        end = self._position + int(length)
        return self._make_answer(bytes(self._bytes[self._position : end]), end) if len(self._bytes) >= end else None

    def _read_head(self) -> bool:
        """Parse the status and the headers. Return False if they have not arrived yet."""
        end = self._bytes.find(b"\r\n\r\n", self._position)
        if end < 0:
            if len(self._bytes) > MAX_HEAD:
                raise HTTPException("the head of the answer is too long")
            return False
        first, *lines = self._bytes[self._position : end].decode("latin-1").split("\r\n")
        self._version, status, *_ = first.split(" ", 2)
        if not self._version.startswith("HTTP/1."):
            raise HTTPException("the answer is not HTTP/1")
        self._status, self._headers, self._position = int(status), {}, end + 4
        for line in lines:
            name, _, value = line.partition(":")
            self._headers[name.lower()] = value.strip()
        return True

    def _read_chunks(self) -> HttpAnswer | None:
        """Parse the chunks that have arrived. Return the answer after the last chunk; None before."""
        while True:
            line_end = self._bytes.find(b"\r\n", self._position)
            if line_end < 0:
                return None
            size, start = int(self._bytes[self._position : line_end].split(b";")[0], 16), line_end + 2
            if size == 0:
                end = self._bytes.find(b"\r\n\r\n", line_end)
                return self._make_answer(b"".join(self._chunks), end + 4) if end >= 0 else None
            if len(self._bytes) < start + size + 2:
                return None
            self._chunks.append(bytes(self._bytes[start : start + size]))
            self._position = start + size + 2

    def _make_answer(self, body: bytes, end: int) -> HttpAnswer:
        assert self._status is not None  # noqa: S101 - the head was read
        closes = self._version == "HTTP/1.0" or self._headers.get("connection", "").lower() == "close"
        return HttpAnswer(self._status, self._headers, body, is_last=closes or len(self._bytes) > end)
