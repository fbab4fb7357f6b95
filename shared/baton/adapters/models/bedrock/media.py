"""Attachments as content blocks of Converse, within its limits."""

from __future__ import annotations

import base64
import struct
from collections import Counter
from typing import Any

from baton.adapters.models.attachments.content import Media, MediaKind

Block = dict[str, Any]
"""A content block in its JSON form."""

MAX_IMAGES = 20
"""The maximum number of images in one message. AWS sets this limit and the next ones for all models."""
MAX_IMAGE_BYTES = 3_750_000
MAX_IMAGE_PIXELS = 8_000
"""The maximum width and height, in pixels."""
MAX_DOCUMENTS = 5
MAX_DOCUMENT_BYTES = 4_500_000

IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
DOCUMENT_FORMATS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}


_LIMITS = {
    MediaKind.IMAGE: (IMAGE_FORMATS, MAX_IMAGES, MAX_IMAGE_BYTES),
    MediaKind.DOCUMENT: (DOCUMENT_FORMATS, MAX_DOCUMENTS, MAX_DOCUMENT_BYTES),
}


class MessageMedia:
    """The attachments of one message. The names of documents contain the message's ``number``."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sent = Counter[MediaKind]()

    def make_blocks(self, media: Media) -> list[Block]:
        """Return the blocks of an attachment, or a block with a sentence if the service does not take it."""
        if media.data is None:
            return [{"text": f"[Image {media.name} at {media.url}]"}]  # Converse fetches nothing from the web
        refusal = self._find_refusal(media, media.data)
        if refusal is not None:
            return [{"text": f"[The {media.kind} {media.name} was not given to the model: {refusal}.]"}]
        self._sent[media.kind] += 1
        formats, _, _ = _LIMITS[media.kind]
        block = {"format": formats[media.mime_type], "source": {"bytes": base64.b64encode(media.data).decode("ascii")}}
        if media.kind is MediaKind.IMAGE:
            return [{"image": block}]
        # Names are read as a part of the prompt, must differ in the whole request, and allow few characters.
        name = f"document {self._number}-{self._sent[media.kind]}"
        return [{"text": f"[{name} is the file {media.name}]"}, {"document": {**block, "name": name}}]

    def _find_refusal(self, media: Media, data: bytes) -> str | None:
        """Return why the service does not take an attachment; None if it does."""
        formats, max_count, max_bytes = _LIMITS[media.kind]
        if media.mime_type not in formats:
            return f"the model does not read {media.mime_type or 'its format'}"
        if not data:
            return "it is empty"
        if len(data) > max_bytes:
            return f"it is larger than {max_bytes / 1_000_000:g} MB"
        size = read_image_size(data) if media.kind is MediaKind.IMAGE else None
        if size is not None and max(size) > MAX_IMAGE_PIXELS:
            return f"it has more than {MAX_IMAGE_PIXELS} pixels in one direction"
        if self._sent[media.kind] == max_count:
            return f"the model takes {max_count} {media.kind}s in a message"
        return None


_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Markers of JPEG segments that hold the size."""


def read_image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, GIF, WebP or JPEG; None if they cannot be read."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack_from("!II", data, 16)
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack_from("<HH", data, 6)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _read_webp_size(data)
        if data.startswith(b"\xff\xd8"):
            return _read_jpeg_size(data)
    except (struct.error, IndexError):
        pass
    return None


def _read_webp_size(data: bytes) -> tuple[int, int] | None:
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


def _read_jpeg_size(data: bytes) -> tuple[int, int] | None:
    offset = 2
    while data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF:  # padding
            offset += 1
            continue
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from("!HH", data, offset + 5)
            return width, height
        offset += 2 + int(struct.unpack_from("!H", data, offset + 2)[0])
    return None
