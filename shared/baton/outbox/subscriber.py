"""The WebSocket connection that a message came over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A connection that gets the events of the thread that it sent a message to."""

    connection_id: str
    token_expires_at: datetime
