"""A picture of one colour, made without a library."""

from __future__ import annotations

import struct
import zlib

SIDE = 64
"""Pixels of each side. Some models refuse smaller pictures than 28 by 28."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw_plain_png(red: int, green: int, blue: int) -> bytes:
    """Return a square PNG of one colour, whose parts are from 0 to 255."""
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)  # 8 bits of red, green and blue each
    rows = (b"\0" + bytes((red, green, blue)) * SIDE) * SIDE
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
