"""One HTTP request of MCP, answered by the protocol's own library without any state between requests."""

from __future__ import annotations

import json
import logging
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from baton.api.http.middleware import MAX_BODY_BYTES
from baton.api.mcp.access import McpCaller
from baton.api.mcp.running import cancel_named
from baton.api.mcp.server import SERVER

PEEKED_BYTES = 16 * 1024
"""``initialize`` and ``notifications/cancelled`` are shorter."""

# Its warnings are about clients' mistakes and quote them.
logging.getLogger("mcp.server").setLevel(logging.ERROR)


BAD_ID = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "id must be a string or a whole number."}}


class McpExchange(Response):
    """The response to a request whose body has been read.

    Clients of protocol versions before 2026-07-28 get a session id from ``initialize``. It names their requests for
    ``notifications/cancelled`` and is kept nowhere: any process takes any id.
    """

    def __init__(self, caller: McpCaller, body: bytes) -> None:
        super().__init__()
        self._caller = caller
        self._body = body
        self._is_read = False
        self._is_answered = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = self._peek()
        request_id = message.get("id", 0)
        # With an id of another type, the library would take a request for a notification.
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            await JSONResponse(BAD_ID, 400)(scope, receive, send)
            return
        await cancel_named(self._caller, message)
        session = self._caller.app.ports.clock.new_id() if message.get("method") == "initialize" else None
        scope.setdefault("state", {})["mcp_caller"] = self._caller  # where ``caller_of`` finds it

        async def whole_body() -> Message:
            if not self._is_read:
                self._is_read = True
                return {"type": "http.request", "body": self._body, "more_body": False}
            received = await receive()
            if received["type"] == "http.disconnect" and not self._is_answered:
                self._caller.hung_up.set()
            return received

        async def answer(event: Message) -> None:
            if event["type"] == "http.response.start" and session is not None and event["status"] == 200:
                event = {**event, "headers": [*event["headers"], (b"mcp-session-id", session.encode())]}
            if event["type"] == "http.response.body" and not event.get("more_body", False):
                self._is_answered = True
            await send(event)

        manager = StreamableHTTPSessionManager(SERVER, stateless=True, max_request_body_size=MAX_BODY_BYTES)
        async with manager.run():
            await manager.handle_request(scope, whole_body, answer)

    def _peek(self) -> dict[str, Any]:
        """Return the message if it is a short object; otherwise an empty one. The library judges what is wrong."""
        if len(self._body) > PEEKED_BYTES:
            return {}
        try:
            message = json.loads(self._body)
        except (ValueError, RecursionError):
            return {}
        return message if isinstance(message, dict) else {}
