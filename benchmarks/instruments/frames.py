"""Parsing of the frames that a WebSocket client receives."""

from __future__ import annotations

import json
from typing import Any


def parse_events(frame: str | bytes) -> list[dict[str, Any]]:
    """Return the events of a server's frame, which is one event or a JSON array of several."""
    received = json.loads(frame)
    return received if isinstance(received, list) else [received]
