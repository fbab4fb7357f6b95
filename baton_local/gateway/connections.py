"""Open WebSocket connections, and the management API that posts to them (``@connections``)."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from baton_local.gateway import identifiers
from baton_local.gateway.callers import Caller
from baton_local.gateway.socket_events import Handshake
from baton_local.serving.asgi import BodyTooLarge, Receive, Scope, Send, answer, read_body, read_header

MAX_PAYLOAD = 128 * 1024
"""Bytes: API Gateway's limit for one post."""


class Frame(NamedTuple):
    """A text frame to send."""

    text: str


class Close(NamedTuple):
    """A request to close the connection."""

    code: int
    reason: str


@dataclass
class Connection:
    """One open connection. Its task sends the frames in ``outgoing`` in order."""

    handshake: Handshake
    caller: Caller
    """The user whom the token names, or the client's address."""
    outgoing: asyncio.Queue[Frame | Close] = field(default_factory=asyncio.Queue)
    last_active_at: int = field(default_factory=identifiers.read_millis)
    """The time of the last post, in milliseconds since the epoch."""


class Connections:
    """The open connections by id; used on the gateway's event loop only."""

    def __init__(self) -> None:
        self._open: dict[str, Connection] = {}

    def add(self, connection: Connection) -> None:
        """Add a connection after its upgrade."""
        self._open[connection.handshake.connection_id] = connection

    def remove(self, connection: Connection) -> None:
        """Remove a connection. Posts to it get 410 from now on."""
        self._open.pop(connection.handshake.connection_id, None)

    def find(self, connection_id: str) -> Connection | None:
        """Return the open connection with this id, or None."""
        return self._open.get(connection_id)

    def __len__(self) -> int:
        return len(self._open)


class ManagementApi:
    """POST, GET and DELETE ``/@connections/{id}``: an ASGI app. Requests must be signed; signatures are not checked."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        connection_id = unquote(scope["raw_path"].decode("latin-1").rpartition("/")[2])
        connection = self._connections.find(connection_id)
        if not (read_header(scope, b"authorization") or "").startswith("AWS4-HMAC-SHA256 "):
            await _send_error(send, 403, "ForbiddenException", "Missing Authentication Token")
        elif not identifiers.CONNECTION_ID.fullmatch(connection_id):
            await _send_error(send, 400, "BadRequestException", f"Invalid connectionId: {connection_id}")
        elif connection is None:
            await _send_error(send, 410, "GoneException", "410")
        elif scope["method"] == "POST":
            await self._post(connection, receive, send)
        elif scope["method"] == "GET":
            await _send_json(send, 200, _describe(connection))
        elif scope["method"] == "DELETE":
            connection.outgoing.put_nowait(Close(1000, "Connection Closed Normally"))
            self._connections.remove(connection)
            await answer(send, 204, [], b"")
        else:
            await _send_error(send, 403, "ForbiddenException", "Forbidden")

    async def _post(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Queue a frame. As with API Gateway, the response is sent before the client has the frame."""
        try:
            body = await read_body(receive, MAX_PAYLOAD)
        except BodyTooLarge:
            await _send_error(send, 413, "PayloadTooLargeException", "Payload Too Large")
            return
        if body is None:
            return
        if self._connections.find(connection.handshake.connection_id) is None:
            await _send_error(send, 410, "GoneException", "410")
            return
        connection.last_active_at = identifiers.read_millis()
        connection.outgoing.put_nowait(Frame(body.decode("utf-8", "replace")))
        await answer(send, 200, [("Content-Type", "application/json")], b"")


def _describe(connection: Connection) -> dict[str, object]:
    handshake = connection.handshake
    return {
        "connectedAt": identifiers.format_iso_time(handshake.connected_at),
        "identity": {"sourceIp": handshake.source_ip, "userAgent": handshake.user_agent or ""},
        "lastActiveAt": identifiers.format_iso_time(connection.last_active_at),
    }


async def _send_json(send: Send, status: int, content: object) -> None:
    await answer(send, status, [("Content-Type", "application/json")], json.dumps(content).encode())


async def _send_error(send: Send, status: int, kind: str, message: str) -> None:
    headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", kind)]
    await answer(send, status, headers, json.dumps({"message": message}).encode())
