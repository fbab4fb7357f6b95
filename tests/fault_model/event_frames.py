"""Frames of AWS's event stream encoding. botocore decodes them only."""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Mapping
from struct import pack
from typing import Any


def event_frame(event: str, fields: Mapping[str, Any] | bytes) -> bytes:
    """Return the frame of an event."""
    return frame({":message-type": "event", ":event-type": event, ":content-type": "application/json"}, fields)


def exception_frame(name: str, message: str, **further: Any) -> bytes:
    """Return the frame of an exception that ends the stream."""
    headers = {":message-type": "exception", ":exception-type": name, ":content-type": "application/json"}
    return frame(headers, {"message": message, **further})


def frame(headers: Mapping[str, str], payload: Mapping[str, Any] | bytes) -> bytes:
    """Return a frame: lengths of all and of the headers, their sum, headers, payload, and the sum of all."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode()
    names = b"".join(
        bytes([len(name.encode())]) + name.encode() + b"\x07" + pack("!H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 12 + len(names) + len(body) + 4, len(names))
    message = prelude + pack("!I", crc32(prelude)) + names + body
    return message + pack("!I", crc32(message))
