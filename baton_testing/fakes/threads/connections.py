"""WebSocket connections in memory, whose frames a test can read."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

from baton.ports.threads.connections import ConnectionGone

MAX_FRAME = 32 * 1024
"""API Gateway's limit, in bytes."""


@dataclass
class FakeConnections:
    """``ports.threads.connections.Connections`` that keeps every frame."""

    frames: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The frames that each connection received, in order."""
    gone: set[str] = field(default_factory=set)
    """Connections that refuse frames: those that were closed, and those that a test adds."""
    closed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._script: defaultdict[str, deque[Exception | None]] = defaultdict(deque)

    def script(self, connection_id: str, *outcomes: Exception | None) -> None:
        """Add outcomes of the connection's next posts; None is success."""
        self._script[connection_id].extend(outcomes)

    async def post(self, connection_id: str, frame: str) -> None:
        if connection_id in self.gone:
            raise ConnectionGone
        if len(frame.encode()) > MAX_FRAME:
            raise ValueError("API Gateway closes the connection on frames over 32 KB")
        script = self._script[connection_id]
        outcome = script.popleft() if script else None
        if isinstance(outcome, ConnectionGone):
            self.gone.add(connection_id)
        if outcome is not None:
            raise outcome
        self.frames[connection_id].append(frame)

    async def close(self, connection_id: str) -> None:
        self.gone.add(connection_id)
        self.closed.append(connection_id)

    def events(self, connection_id: str) -> list[dict[str, Any]]:
        """Return the events that the connection received. Events in parts are joined."""
        events: list[dict[str, Any]] = []
        parts: defaultdict[str, str] = defaultdict(str)
        for event in (event for frame in self.frames[connection_id] for event in events_in(frame)):
            if event["type"] != "PART":
                events.append(event)
                continue
            digest = event["metadata"]["digest"]
            parts[digest] += event["data"]
            if event["metadata"]["part"] == event["metadata"]["of"]:
                events.append(json.loads(parts.pop(digest)))
        return events


def events_in(frame: str | bytes) -> list[dict[str, Any]]:
    """Return the events of a server's frame, which is one event or a JSON array of several."""
    received = json.loads(frame)
    return received if isinstance(received, list) else [received]
