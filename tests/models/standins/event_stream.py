"""Write frames of ``application/vnd.amazon.eventstream``."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping

MEDIA_TYPE = "application/vnd.amazon.eventstream"


def frame(headers: Mapping[str, str], payload: bytes, *, breaks_checksum: bool = False) -> bytes:
    """Return one frame: two lengths and their checksum, headers, payload, and the checksum of all."""
    written = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(written) + len(payload), len(written))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + written + payload
    return message + struct.pack(">I", zlib.crc32(message) ^ breaks_checksum)


def event(kind: str, content: object, *, breaks_checksum: bool = False) -> bytes:
    """Return the frame of an event."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(content).encode(), breaks_checksum=breaks_checksum)


def exception(kind: str, content: object) -> bytes:
    """Return the frame of a modelled exception, whose name is in lower camel case."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps(content).encode())


def error(code: str, message: str) -> bytes:
    """Return the frame of an error that the service's model does not have."""
    return frame({":error-code": code, ":error-message": message, ":message-type": "error"}, b"")
