"""Open WebSocket connections, for sending."""

from __future__ import annotations

from typing import Protocol


class ConnectionGone(Exception):
    """The client has disconnected, for good. The caller should forget the connection."""


class ConnectionBusy(Exception):
    """The gateway throttles. The caller should post less often."""


class FrameRefused(Exception):
    """The gateway refused one frame. The connection may accept another one, so it stays attached."""

    def __init__(self, reason: str, *, may_pass_later: bool = True) -> None:
        """``reason`` is the gateway's code. ``may_pass_later`` is False if the frame itself is at fault."""
        super().__init__(reason)
        self.reason = reason
        self.may_pass_later = may_pass_later


class Connections(Protocol):
    """Sends frames to connected clients (API Gateway's @connections)."""

    async def post(self, connection_id: str, frame: str) -> None:
        """Send one frame of at most 32 KB. Raises ``ConnectionGone``, ``ConnectionBusy`` and ``FrameRefused``."""
        ...

    async def close(self, connection_id: str) -> None:
        """Disconnect the client. A connection that is gone already is no error."""
        ...
