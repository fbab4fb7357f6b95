"""uvicorn's WebSocket protocol with API Gateway's limits on the wire."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MAX_FRAME = 32 * 1024
MAX_MESSAGE = 128 * 1024
LINGER_SECONDS = 5.0


class ApiGatewayWebSocket(WebSocketsSansIOProtocol):
    """Frames over 32 KB and messages over 128 KB close the connection with 1009."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn.max_fragment_size = MAX_FRAME
        self.conn.max_message_size = MAX_MESSAGE

    async def send(self, message: Any) -> None:
        """Send as uvicorn does; a refusal that was sent whole completes the handshake, and is no error of the app's."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        """Take bytes; after a violation, throw them away until the client has read why."""
        if self.conn.parser_exc is None:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        """Send the close frame and linger: closing with unread bytes would reset the connection and lose the frame."""
        sent = self.conn.close_sent
        if sent is None:
            self.transport.close()
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": sent.code, "reason": sent.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_sent = True
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
