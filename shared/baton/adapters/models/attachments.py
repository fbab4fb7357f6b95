"""The attachments of one request, read once however often the request is repeated."""

from __future__ import annotations

import base64
import codecs
import mimetypes
import re
from dataclasses import dataclass
from typing import Any

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource

from baton.adapters.models.content import Media, MediaKind, Piece
from baton.adapters.models.profile import ModelProfile
from baton.domain.content import part_name
from baton.domain.errors import NotFound
from baton.domain.message import Content, Part
from baton.ports.files import ThreadFiles

MAX_INLINED_CHARACTERS = 200_000
_TEXT_TYPES = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml)"
    r"|application/(csv|javascript|markdown|rtf|sql|toml|x-ndjson|x-sh|x-yaml|typescript|x-javascript)"
)
_IMAGE_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


class Attachments:
    """Reads attachments as pieces of messages."""

    def __init__(self, files: ThreadFiles, extractor: Any) -> None:
        self._files = files

    async def pieces(self, content: Content, profile: ModelProfile) -> tuple[Piece, ...]:
        if isinstance(content, str):
            return (content,)
        return tuple([await self._piece(part, profile) for part in content])

    async def _piece(self, part: Part, profile: ModelProfile) -> Piece:
        if isinstance(part, TextPart):
            return part.text
        name = part_name(part)
        if isinstance(part.source, UrlSource):
            if isinstance(part, ImagePart):
                return Media(MediaKind.IMAGE, name or "image", "", None, part.source.value)
            return f"[Document{f' {name}' if name else ''} at {part.source.value}]"
        try:
            attachment = await _attachment(part, name, self._files)
        except NotFound:
            kind = "image" if isinstance(part, ImagePart) else "document"
            return f"[The {kind} {name or 'that was announced'} has not been uploaded.]"
        if isinstance(part, ImagePart):
            if not profile.images:
                return "[image not given]"
            return Media(MediaKind.IMAGE, attachment.name, attachment.mime_type, attachment.data)
        if _TEXT_TYPES.fullmatch(attachment.mime_type):
            return _inlined(attachment)
        if not profile.documents:
            return "[document not given]"
        return Media(MediaKind.DOCUMENT, attachment.name, attachment.mime_type, attachment.data)


@dataclass(frozen=True, slots=True)
class _Attachment:
    name: str
    mime_type: str
    data: bytes

    @property
    def data_url(self) -> str:
        return f"data:{self.mime_type};base64,{base64.b64encode(self.data).decode()}"


async def _attachment(part: ImagePart | DocumentPart, name: str | None, files: ThreadFiles) -> _Attachment:
    source = part.source
    if isinstance(source, DataSource):
        data = base64.b64decode(source.value)
    else:
        data = await files.read(source.value)
    mime_type = (source.mime_type or "").lower()
    if not mime_type or mime_type == "application/octet-stream":
        mime_type = _guessed_type(part, name, data)
    if name is None:
        name = f"{'image' if isinstance(part, ImagePart) else 'document'}{mimetypes.guess_extension(mime_type) or ''}"
    return _Attachment(name, mime_type, data)


def _guessed_type(part: ImagePart | DocumentPart, name: str | None, data: bytes) -> str:
    if isinstance(part, ImagePart):
        return next((mime for magic, mime in _IMAGE_MAGIC if data.startswith(magic)), "image/png")
    return (mimetypes.guess_type(name)[0] if name else None) or "application/octet-stream"


def _inlined(attachment: _Attachment) -> str:
    encoding = "utf-16" if attachment.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    text = attachment.data.decode(encoding, "replace").replace("\x00", "\ufffd")
    if len(text) > MAX_INLINED_CHARACTERS:
        text = f"{text[:MAX_INLINED_CHARACTERS]}\n[cut: the document has {len(text)} characters]"
    return (
        f'<document name="{attachment.name}" type="{attachment.mime_type}" bytes="{len(attachment.data)}">\n'
        f"{text}\n</document>"
    )
