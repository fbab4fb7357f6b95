"""Open WebSocket connections, for sending."""

from __future__ import annotations

from typing import Protocol


class ConnectionGone(Exception):
    """The client has disconnected. The caller should forget the connection."""


class ConnectionBusy(Exception):
    """The gateway throttles. The caller should post less often."""


class Connections(Protocol):
    """Sends frames to connected clients (API Gateway's @connections)."""

    async def post(self, connection_id: str, frame: str) -> None:
        """Send one frame of at most 32 KB. Raises ``ConnectionGone`` and ``ConnectionBusy``."""
        ...

    async def close(self, connection_id: str) -> None:
        """Disconnect the client. A connection that is gone already is no error."""
        ...
