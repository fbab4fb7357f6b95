"""uvicorn's protocols with API Gateway's limits, and with timeouts for slow clients."""

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MAX_FRAME = 32 * 1024
"""Bytes: API Gateway's limit for a WebSocket frame."""
MAX_MESSAGE = 128 * 1024
"""Bytes: API Gateway's limit for a WebSocket message."""
LINGER_SECONDS = 5.0
"""Seconds that a client has to read the last answer before the connection is closed."""
REQUEST_SECONDS = 30.0
"""The time limit of a whole request, from the connection's beginning or the request's first byte."""

BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class OpenTransport:
    """A transport that drops what is written after its connection has ended.

    asyncio's own transport logs a warning for each such write. A stream with much to send notices the end only when it
    waits for something.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write unless the connection has ended."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def linger(transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> asyncio.TimerHandle:
    """Close the sending side now and the connection later, because closing with unread bytes would reset it.

    Return the timer, which closes the connection after ``LINGER_SECONDS``.
    """
    if transport.can_write_eof():
        transport.write_eof()
    return loop.call_later(LINGER_SECONDS, transport.close)


class BoundedHttp(H11Protocol):
    """HTTP/1.1 with limits: a request that is too large, malformed or slow is refused, and its connection closed."""

    request_seconds = REQUEST_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(OpenTransport(transport))  # type: ignore[arg-type]
        self._deadline: asyncio.TimerHandle | None = None
        self._parting: asyncio.TimerHandle | None = None
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Handle bytes; after a refusal, discard them until the client has read the answer."""
        if not self._parting:
            super().data_received(data)
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_deadline()
        if self._parting:
            self._parting.cancel()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to the WebSocket protocol, which has its own limits."""
        self._cancel_deadline()
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that h11 could not read, with the status that it suggests: 431 over the limit of 64 KB."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        self._refuse(status, msg)

    def _watch(self) -> None:
        """Set a deadline for the first request and incomplete ones. uvicorn ends connections that are idle later."""
        if self.transport.get_protocol() is not self:
            return  # the connection has become a WebSocket
        is_incomplete = self.conn.their_state in {h11.IDLE, h11.SEND_BODY}
        if is_incomplete and not self._deadline:
            self._deadline = self.loop.call_later(self.request_seconds, self._give_up)
        elif not is_incomplete:
            self._cancel_deadline()

    def _cancel_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Refuse a request that has not begun in time; close the connection of an incomplete one."""
        self._deadline = None
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE:
            self._refuse(408, "The request did not come in time.")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        parts = (h11.Response(status_code=status, headers=headers), h11.Data(data=message.encode()), h11.EndOfMessage())
        self.transport.write(b"".join(self.conn.send(part) or b"" for part in parts))
        self._cancel_deadline()
        self._parting = linger(self.transport, self.loop)


class ApiGatewayWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket with the limits of API Gateway.

    Frames over 32 KB and messages over 128 KB close the connection with 1009; too large a handshake is refused.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn.max_fragment_size = MAX_FRAME
        self.conn.max_message_size = MAX_MESSAGE

    async def send(self, message: Any) -> None:
        """Send as uvicorn does; a refusal that was sent whole completes the handshake, and is not the app's error."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        """Handle bytes; after a violation, discard them until the client has read the close frame."""
        if self.conn.parser_exc is not None or self.conn.handshake_exc is not None:
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None:
            self._refuse_handshake()

    def handle_parser_exception(self) -> None:
        """Send the close frame and linger."""
        sent = self.conn.close_sent
        if sent is None:
            self.transport.close()
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": sent.code, "reason": sent.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.close_timer = linger(self.transport, self.loop)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()

    def _refuse_handshake(self) -> None:
        """Send the answer (414, 431) that the library has prepared but uvicorn leaves out. The app is not called."""
        self.transport.write(b"".join(self.conn.data_to_send()) or BAD_REQUEST)
        self.handshake_complete = self.close_sent = True
        self.close_timer = linger(self.transport, self.loop)
