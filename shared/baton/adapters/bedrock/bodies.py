"""Answers that come whole."""

from __future__ import annotations

import json
from typing import Any

import httpx2 as httpx

from baton.adapters.bedrock.event_stream import BrokenStream
from baton.adapters.stream_limits import StreamLimits, StreamTooLong
from baton.domain.json_values import ValueCount

JSON_TYPE = "application/json"


async def read_json(response: httpx.Response, limits: StreamLimits) -> Any:
    """Return the value of a body. Raises ``StreamTooLong``, ``BrokenStream`` and the errors of the connection."""
    read = bytearray()
    values = ValueCount()
    async for piece in response.aiter_raw():
        read += piece
        if len(read) > limits.stream_bytes:
            raise StreamTooLong(f"The answer is longer than {limits.stream_bytes} bytes.")
        if values.add(piece) > limits.event_values:
            raise StreamTooLong(f"The answer holds more than {limits.event_values} values.")
    try:
        return json.loads(read)
    except (ValueError, RecursionError):
        raise BrokenStream("The answer is no JSON.") from None
