"""Attachments of messages in the form that a model reads: text, images and documents, or a sentence that names them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource

from baton.adapters.models.content import Media, MediaKind, Piece
from baton.adapters.models.file_types import DOCX, PDF, PPTX, XLSX, FileKind, FileType, file_type
from baton.adapters.models.profile import ModelProfile
from baton.domain.content import part_name
from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable, NotFound
from baton.domain.extracted import DocumentText
from baton.domain.message import Content
from baton.off_loop import off_loop
from baton.ports.documents import DocumentReader
from baton.ports.files import ThreadFiles

MAX_MEDIA_BYTES = 32 * 1024 * 1024
"""Bytes of images and documents of one request. Further ones are read as text or named."""
_GUESSING = 32
"""How much longer it takes to guess a text's encoding than to work on it otherwise."""
MAX_READING_SECONDS = 30.0
"""How long the documents of one request are read. Those that are left are named."""

_FORMATS = {
    PDF: DocumentFormat.PDF,
    DOCX: DocumentFormat.DOCX,
    PPTX: DocumentFormat.PPTX,
    XLSX: DocumentFormat.XLSX,
}
_ENDINGS = {PDF: ".pdf", DOCX: ".docx", PPTX: ".pptx", XLSX: ".xlsx", "image/jpeg": ".jpg"} | {
    f"image/{each}": f".{each}" for each in ("png", "gif", "webp")
}
_Attached = ImagePart | DocumentPart


@dataclass(frozen=True, slots=True)
class _File:
    """An attachment that was read."""

    name: str
    size: int
    type: FileType
    data: bytes
    """Empty for text, which is in ``type``."""


@dataclass
class _Slot:
    """What is known of one attachment. Equal parts of several messages share it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    file: _File | str | None = None
    """The file, or the sentence in its place."""
    text: str | None = None
    """The document's extracted text, or the sentence in its place."""
    counts_bytes: bool = False
    """Whether its bytes are among those that the request may hold."""


class Attachments:
    """The attachments of one request's messages, read and classified once however often the request is repeated.

    Make one for each request, and keep it while the request is repeated with another profile.
    """

    def __init__(
        self,
        files: ThreadFiles,
        reader: DocumentReader | None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``files`` are the thread's uploads. Without ``reader``, documents that a model does not take are named."""
        self._files = files
        self._reader = reader
        self._monotonic = monotonic
        self._slots: dict[tuple[str | None, ...], _Slot] = {}
        self._bytes = 0
        self._reading_since: float | None = None

    async def pieces_of_all(self, contents: Sequence[Content], profile: ModelProfile) -> list[tuple[Piece, ...]]:
        """Return the ``pieces`` of each content. ``MAX_MEDIA_BYTES`` are given to the last ones first."""
        pieces = [await self.pieces(content, profile) for content in reversed(contents)]
        return pieces[::-1]

    async def pieces(self, content: Content, profile: ModelProfile) -> tuple[Piece, ...]:
        """Return what the model of ``profile`` gets of a message's content, in its order. Blank text is left out.

        An attachment that it cannot get becomes a sentence that names it and the reason. Raises the errors of the
        uploads' store except ``NotFound``.
        """
        if isinstance(content, str):
            return (content,) if content.strip() else ()
        given: list[Media] = []
        pieces: list[Piece] = []
        for part in content:
            piece = part.text if isinstance(part, TextPart) else await self._piece(part, profile, given)
            if isinstance(piece, Media):
                given.append(piece)
            if isinstance(piece, Media) or piece.strip():
                pieces.append(piece)
        return tuple(pieces)

    async def _piece(self, part: _Attached, profile: ModelProfile, given: Sequence[Media]) -> Piece:
        if isinstance(part.source, UrlSource):
            return _linked(part, part.source, profile, given)
        slot = self._slots.setdefault(_key(part), _Slot())
        async with slot.lock:
            if slot.file is None:
                slot.file = await self._file(part)
            file = slot.file
            if isinstance(file, str):
                return file
            match file.type.kind:
                case FileKind.TEXT:
                    return _framed(file, file.type.text, _text_note(file.type))
                case FileKind.IMAGE:
                    refusal = _image_refusal(file, profile, given) or self._claim(slot, file)
                    if refusal is not None:
                        return _sentence("image", file.name, refusal)
                    return Media(MediaKind.IMAGE, file.name, file.type.mime_type, file.data)
                case FileKind.DOCUMENT:
                    if _takes_document(file, profile, given) and self._claim(slot, file) is None:
                        return Media(MediaKind.DOCUMENT, file.name, file.type.mime_type, file.data)
                    if slot.text is None:
                        slot.text = await self._extracted(file)
                    return slot.text
            return _sentence(_word(part, file.type), file.name, f"it is {file.type.label}")

    async def _file(self, part: _Attached) -> _File | str:
        """Return the attachment, or the sentence in its place if there is none."""
        name = part_name(part)
        word = "image" if isinstance(part, ImagePart) else "document"
        try:
            data = await self._data(part)
        except NotFound:
            return f"[The {word} {name or 'that was announced'} has not been uploaded.]"
        except binascii.Error:
            return _sentence(word, name or "that was sent", "its base64 is damaged")
        if not data:
            return _sentence(word, name or "that was sent", "it is empty")
        found = await off_loop(len(data) * _GUESSING, file_type, data, name, part.source.mime_type)
        return _File(
            _named(name, word, found.mime_type), len(data), found, b"" if found.kind is FileKind.TEXT else data
        )

    async def _data(self, part: _Attached) -> bytes:
        source = part.source
        if isinstance(source, DataSource):
            return await off_loop(len(source.value), base64.b64decode, source.value)
        return await self._files.read(source.value)

    def _claim(self, slot: _Slot, file: _File) -> str | None:
        """Count the bytes of a file that is sent as it is. Return why it may not be."""
        if slot.counts_bytes:
            return None
        if self._bytes + file.size > MAX_MEDIA_BYTES:
            return "the attachments of the conversation are too large to be given together"
        self._bytes += file.size
        slot.counts_bytes = True
        return None

    async def _extracted(self, file: _File) -> str:
        """Return the text of a document, or the sentence in its place."""
        form = _FORMATS.get(file.type.mime_type)
        if form is None:
            return _sentence("document", file.name, f"it is {file.type.label}, which is not read")
        if self._reader is None:
            return _sentence("document", file.name, f"it is {file.type.label}, which it does not read")
        now = self._monotonic()
        if self._reading_since is None:
            self._reading_since = now
        seconds = max(0.0, MAX_READING_SECONDS - (now - self._reading_since))
        try:
            found = await self._reader.read(file.data, file.name, form, seconds=seconds)
        except DocumentUnreadable as problem:
            return f"[The document {file.name} was not given to the model. {problem.detail}]"
        return _framed(file, found.text, _cut_note(found), found.pages)


def _key(part: _Attached) -> tuple[str | None, ...]:
    source = part.source
    return (part.type, source.type, source.value, source.mime_type, part_name(part))


def _linked(part: _Attached, source: UrlSource, profile: ModelProfile, given: Sequence[Media]) -> Piece:
    name = part_name(part)
    if isinstance(part, DocumentPart):
        # APIs accept few documents by URL, and fetching a caller's URL here would expose our network.
        return f"[Document{f' {name}' if name else ''} at {source.value}]"
    if not profile.images:
        return _sentence("image", name or f"at {source.value}", "it reads no images")
    if not profile.image_urls:
        return _sentence("image", name or f"at {source.value}", "it reads no images by their address")
    if _is_full(MediaKind.IMAGE, profile.max_images, given):
        return _sentence(
            "image", name or f"at {source.value}", f"it reads only {profile.max_images} images of a message"
        )
    return Media(MediaKind.IMAGE, name or "image", source.mime_type or "", None, source.value)


def _image_refusal(file: _File, profile: ModelProfile, given: Sequence[Media]) -> str | None:
    if not profile.images:
        return "it reads no images"
    if profile.max_image_bytes is not None and file.size > profile.max_image_bytes:
        return f"it reads images of at most {profile.max_image_bytes} bytes"
    if _is_full(MediaKind.IMAGE, profile.max_images, given):
        return f"it reads only {profile.max_images} images of a message"
    return None


def _takes_document(file: _File, profile: ModelProfile, given: Sequence[Media]) -> bool:
    return (
        file.type.mime_type in profile.documents
        and (profile.max_document_bytes is None or file.size <= profile.max_document_bytes)
        and not _is_full(MediaKind.DOCUMENT, profile.max_documents, given)
    )


def _is_full(kind: MediaKind, most: int | None, given: Sequence[Media]) -> bool:
    return most is not None and sum(media.kind is kind for media in given) >= most


def _named(name: str | None, word: str, mime_type: str) -> str:
    """Return the file's name, with an ending if it has none: some endpoints read the type from it."""
    named = name or word
    return named if "." in named else named + _ENDINGS.get(mime_type, "")


def _word(part: _Attached, found: FileType) -> str:
    return "image" if isinstance(part, ImagePart) or found.mime_type.startswith("image/") else "document"


def _sentence(word: str, name: str, reason: str) -> str:
    return f"[The {word} {name} was not given to the model, because {reason}.]"


def _framed(file: _File, text: str, note: str, pages: int | None = None) -> str:
    """Return a document's text between tags that tell its name, type and size."""
    counted = f' pages="{pages}"' if pages else ""
    return (
        f'<document name="{file.name}" type="{file.type.mime_type}" bytes="{file.size}"{counted}>\n'
        f"{text}{note}\n</document>"
    )


def _text_note(text: FileType) -> str:
    return f"\n[cut: the document has {text.characters} characters]" if text.characters > len(text.text) else ""


def _cut_note(document: DocumentText) -> str:
    return f"\n[cut: the document has more than {len(document.text)} characters]" if document.is_cut else ""
