"""The size of an image in pixels, read from its first bytes."""

from __future__ import annotations

import struct

_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Markers of JPEG segments that hold the size."""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, GIF, WebP or JPEG; None if they cannot be read."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack_from("!II", data, 16)
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack_from("<HH", data, 6)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except (struct.error, IndexError):
        pass
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        [bits] = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # padding
            place += 1
            continue
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from("!HH", data, place + 5)
            return width, height
        place += 2 + int(struct.unpack_from("!H", data, place + 2)[0])
    return None
