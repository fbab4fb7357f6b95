"""The WebSocket connection a message came by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A connection that wants the events of the thread it wrote to."""

    connection_id: str
    token_expires_at: datetime
