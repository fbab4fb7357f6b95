"""Attachments as content blocks of Converse, within its limits."""

from __future__ import annotations

import base64
import struct
from typing import Any

from baton.adapters.models.attachments.content import Media, MediaKind

Block = dict[str, Any]
"""A content block in its JSON form."""

MAX_IMAGES = 20
"""Images of one message. This limit and the next ones are AWS's, for all models."""
MAX_IMAGE_BYTES = 3_750_000
MAX_IMAGE_PIXELS = 8_000
"""Width and height."""
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


class MessageMedia:
    """The attachments of one message. ``number`` is that of the message: documents are named by it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._images = 0
        self._documents = 0

    def blocks(self, media: Media) -> list[Block]:
        """Return the blocks of an attachment: itself, or a sentence that says why it is left out."""
        if media.data is None:
            return [{"text": f"[Image {media.name} at {media.url}]"}]  # Converse fetches nothing from the web
        return self._image(media, media.data) if media.kind is MediaKind.IMAGE else self._document(media, media.data)

    def _image(self, media: Media, data: bytes) -> list[Block]:
        kind = IMAGE_FORMATS.get(media.mime_type)
        size = image_size(data)
        if kind is None:
            return _left_out("image", media, f"the model does not read {media.mime_type or 'its format'}")
        if len(data) > MAX_IMAGE_BYTES:
            return _left_out("image", media, "it is larger than 3.75 MB")
        if size is not None and max(size) > MAX_IMAGE_PIXELS:
            return _left_out("image", media, f"it has more than {MAX_IMAGE_PIXELS} pixels in one direction")
        if self._images == MAX_IMAGES:
            return _left_out("image", media, f"the model takes {MAX_IMAGES} images in a message")
        self._images += 1
        return [{"image": {"format": kind, "source": {"bytes": _base64(data)}}}]

    def _document(self, media: Media, data: bytes) -> list[Block]:
        kind = DOCUMENT_FORMATS.get(media.mime_type)
        if kind is None:
            return _left_out("document", media, f"the model does not read {media.mime_type or 'its format'}")
        if not data:
            return _left_out("document", media, "it is empty")
        if len(data) > MAX_DOCUMENT_BYTES:
            return _left_out("document", media, "it is larger than 4.5 MB")
        if self._documents == MAX_DOCUMENTS:
            return _left_out("document", media, f"the model takes {MAX_DOCUMENTS} documents in a message")
        self._documents += 1
        # Names are read as a part of the prompt, must differ in the whole request, and allow few characters.
        name = f"document {self._number}-{self._documents}"
        return [
            {"text": f"[{name} is the file {media.name}]"},
            {"document": {"format": kind, "name": name, "source": {"bytes": _base64(data)}}},
        ]


def _left_out(kind: str, media: Media, reason: str) -> list[Block]:
    return [{"text": f"[The {kind} {media.name} was not given to the model: {reason}.]"}]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


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
