"""ASGI functions that several modules here share."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = dict[str, str]


class BodyTooLarge(Exception):
    """An error because the request's body is over the limit."""


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the request's body, or ``None`` if the client left. Raises ``BodyTooLarge`` over ``limit`` bytes."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge
        if not message.get("more_body"):
            return bytes(body)


def read_multi_headers(scope: Scope) -> dict[str, list[str]]:
    """Return the request's headers as API Gateway's ``multiValueHeaders``, with its capitals (``User-Agent``)."""
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(_capitalize(name.decode("latin-1")), []).append(value.decode("latin-1"))
    return headers


def read_header(scope: Scope, name: bytes) -> str | None:
    """Return the last value of the header ``name`` (lower case), or None."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return values[-1].decode("latin-1") if values else None


async def answer(send: Send, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    """Send a whole HTTP answer, with its ``Content-Length``."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _capitalize(name: str) -> str:
    """Return a header's name with API Gateway's capitals."""
    if name.startswith("sec-websocket-"):
        return "Sec-WebSocket-" + name.removeprefix("sec-websocket-").capitalize()
    return "-".join(part.capitalize() for part in name.split("-"))
