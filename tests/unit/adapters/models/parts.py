"""Parts of messages with attachments."""

from __future__ import annotations

import base64

from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart

FILE_ID = "file_" + "0" * 32


def document(content: bytes, mime_type: str = "application/octet-stream", name: str | None = None) -> DocumentPart:
    source = DataSource(value=base64.b64encode(content).decode(), mime_type=mime_type)
    return DocumentPart(source=source, metadata={"name": name} if name else None)


def image(content: bytes, mime_type: str = "image/png", name: str | None = None) -> ImagePart:
    source = DataSource(value=base64.b64encode(content).decode(), mime_type=mime_type)
    return ImagePart(source=source, metadata={"name": name} if name else None)


def upload(file_id: str = FILE_ID, name: str | None = None, mime_type: str | None = None) -> DocumentPart:
    source = FileSource(value=file_id, provider="baton", mime_type=mime_type)
    return DocumentPart(source=source, metadata={"name": name} if name else None)
