"""The server on the wire: what bad clients get, and that small writes do not wait."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from baton_local.serving.asgi import Receive, Scope, Send, answer, read_body
from baton_local.serving.server import Server, claim
from baton_local.serving.wire import BoundedHttp

UPGRADE = (
    "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


BURST = 200
"""Pieces that are sent at once, as a long replay is."""
gone = threading.Event()
"""Set once the client has left. The server is kept from noticing it before."""


async def send_burst(send: Send, start: dict[str, Any], piece: dict[str, Any]) -> None:
    await send(start)
    await send(piece)
    gone.wait(10)
    for _ in range(BURST):
        with contextlib.suppress(Exception):  # uvicorn's own for a WebSocket that has ended
            await send(piece)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the size of the body; accept every WebSocket. ``/burst`` sends much to a client that leaves."""
    if scope.get("path") == "/burst":
        await receive()
        start: dict[str, Any] = {"type": "websocket.accept"}
        piece: dict[str, Any] = {"type": "websocket.send", "text": "x"}
        if scope["type"] == "http":
            start = {"type": "http.response.start", "status": 200, "headers": []}
            piece = {"type": "http.response.body", "body": b"x", "more_body": True}
        await send_burst(send, start, piece)
        return
    if scope["type"] == "lifespan":
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
    else:
        body = await read_body(receive, 1_000_000)
        if body is not None:
            await answer(send, 200, [], str(len(body)).encode())


@pytest.fixture
def port() -> Iterator[int]:
    subscriber = claim(0)
    server = Server(app, subscriber)
    server.start()
    yield subscriber.getsockname()[1]
    server.stop()


def converse(port: int, *requests: str | bytes) -> bytes:
    """Send, and return everything that comes until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for request in requests:
            connection.sendall(request if isinstance(request, bytes) else request.encode())
        answered = b""
        while more := connection.recv(65536):
            answered += more
        return answered


def status(answered: bytes) -> int:
    return int(answered.split()[1])


@pytest.mark.parametrize(
    ("request_line", "headers", "expected"),
    [
        ("GET /ws?token=" + "a" * 9_000, "", 414),
        ("GET /ws", "Sec-WebSocket-Protocol: baton.v1, " + "a" * 9_000 + "\r\n", 431),
        ("GET /ws", "".join(f"X-{number}: a\r\n" for number in range(200)), 431),
        ("POST /ws", "", 405),
        ("GET /ws", "Content-Length: 5\r\n", 400),
    ],
)
def test_a_handshake_that_is_too_large_or_none_is_refused_and_the_connection_closed(
    port: int, request_line: str, headers: str, expected: int
) -> None:
    assert status(converse(port, f"{request_line} HTTP/1.1\r\n{UPGRADE}{headers}\r\n")) == expected


def test_a_handshake_larger_than_is_ever_read_is_refused_too(port: int) -> None:
    handshake = f"GET /ws HTTP/1.1\r\n{UPGRADE}X: {'a' * 5_000_000}\r\n\r\n"
    assert status(converse(port, handshake)) == 431


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("GET /" + "a" * 5_000_000 + " HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: " + "a" * 5_000_000 + "\r\n\r\n", 431),
        ("no request\r\n\r\n", 400),
    ],
)
def test_a_request_that_is_too_large_or_none_is_refused_and_the_connection_closed(
    port: int, request_: str, expected: int
) -> None:
    assert status(converse(port, request_)) == expected


@pytest.mark.parametrize("start_count", ["", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_request_that_never_comes_whole_is_given_up(
    port: int, start_count: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.1)
    assert status(converse(port, start_count)) == 408


def test_a_body_that_never_comes_whole_is_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.1)
    assert converse(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf") == b""


def test_a_second_request_that_never_comes_whole_is_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.1)
    client = HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("POST", "/", b"body")
    assert client.getresponse().read() == b"4"
    client.sock.sendall(b"GET / HT")
    assert client.sock.recv(65536).startswith(b"HTTP/1.1 408 ")
    assert client.sock.recv(65536) in {b"", b"The request did not come in time."}
    client.close()


def test_a_websocket_outlives_the_time_for_a_request(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.1)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"GET /ws HTTP/1.1\r\n{UPGRADE}\r\n".encode())
        assert status(connection.recv(65536)) == 101
        converse(port, "")  # meanwhile another connection waits in vain
        connection.sendall(b"\x88\x80\x00\x00\x00\x00")  # a close frame is answered by one
        assert connection.recv(65536)[0] == 0x88


async def test_small_writes_on_accepted_connections_leave_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio switches Nagle's algorithm off for sockets that name their protocol only, as the subscriber does."""
    accepted: asyncio.Queue[int] = asyncio.Queue()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.put_nowait(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    subscriber = claim(0)
    server = await asyncio.get_running_loop().create_server(Protocol, sock=subscriber)
    async with server:
        _, writer = await asyncio.open_connection(*subscriber.getsockname())
        assert await accepted.get() == 1
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("headers", ["Host: localhost\r\n", UPGRADE], ids=["a stream", "a WebSocket"])
def test_what_is_sent_to_clients_that_have_left_fills_no_log(
    port: int, headers: str, caplog: pytest.LogCaptureFixture
) -> None:
    gone.clear()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave by a reset
        connection.sendall(f"GET /burst HTTP/1.1\r\n{headers}\r\n".encode())
        assert connection.recv(65536)
    gone.set()
    assert status(converse(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) == 200
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
