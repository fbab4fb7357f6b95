"""Attachments of messages in the form that a model reads: text, images and documents, or a sentence that names them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Iterable, Sequence

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource

from baton.adapters.models.attachments.attached_file import AttachedFile, TextRoom, linked, not_given
from baton.adapters.models.attachments.content import Media, Piece
from baton.adapters.models.attachments.file_types import FileKind, file_type
from baton.adapters.models.profiles.profile import ModelProfile
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.errors import DocumentUnreadable, NotFound
from baton.domain.threads.content import part_name
from baton.domain.threads.message import Content
from baton.ports.documents.documents import DocumentReader
from baton.ports.documents.files import ThreadFiles
from baton_documents.encodings.text_encoding import GUESSING
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import DOCX, PDF, PPTX, XLSX
from baton_documents.results import DocumentText

MAX_HELD_BYTES = 32 * 1024 * 1024
"""Bytes of the images and documents of one request, which are in memory together. Earlier ones are named only."""
MAX_READING_SECONDS = 30.0
"""Time limit of reading the documents of one request. Those that are left are named."""
_AT_ONCE = 4
"""Uploads that are read at the same time."""
_FORMATS = {PDF: DocumentFormat.PDF, DOCX: DocumentFormat.DOCX, PPTX: DocumentFormat.PPTX, XLSX: DocumentFormat.XLSX}
_Attached = ImagePart | DocumentPart
_Key = tuple[str | None, ...]


class Attachments:
    """The attachments of one request's messages, read and classified once however often the request is repeated.

    Make one for each request, and keep it while the request is repeated with another profile.
    """

    def __init__(
        self, files: ThreadFiles, reader: DocumentReader | None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``files`` are the thread's uploads. Without ``reader``, documents that a model does not take are named."""
        self._files = files
        self._reader = reader
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._read: dict[_Key, AttachedFile | str] = {}
        """Each attachment, or the sentence in its place. Equal parts of several messages are one."""
        self._texts: dict[_Key, DocumentText | str] = {}
        """The text of each document that was extracted, or the sentence in its place."""
        self._held = 0
        self._reading_since: float | None = None

    @property
    def media_types(self) -> frozenset[str]:
        """The media types of the attachments that were read, by their content."""
        return frozenset(file.type.mime_type for file in self._read.values() if isinstance(file, AttachedFile))

    async def pieces(self, content: Content, profile: ModelProfile) -> tuple[Piece, ...]:
        """Return what the model of ``profile`` gets of one message's content. See ``pieces_of_all``."""
        [pieces] = await self.pieces_of_all([content], profile)
        return pieces

    async def pieces_of_all(self, contents: Sequence[Content], profile: ModelProfile) -> list[tuple[Piece, ...]]:
        """Return what the model of ``profile`` gets of each content, in its order. Blank text is left out.

        An attachment that it cannot get becomes a sentence that names it and the reason. All bounds favour the last
        contents. Raises the errors of the uploads' store except ``NotFound``.
        """
        latest_first = contents[::-1]
        async with self._lock:
            await self._read_all(part for content in latest_first for part in _attached(content))
            room = TextRoom(profile)
            return [await self._pieces(content, profile, room) for content in latest_first][::-1]

    async def _read_all(self, parts: Iterable[_Attached]) -> None:
        unread = [*{key: part for part in parts if (key := _key(part)) not in self._read}.items()]
        for start in range(0, len(unread), _AT_ONCE):
            batch = unread[start : start + _AT_ONCE]
            files: list[AttachedFile | str] = await gather_all(*(self._file(part) for _, part in batch))
            for (key, _), file in zip(batch, files, strict=True):
                self._read[key] = self._within_bounds(file)

    async def _file(self, part: _Attached) -> AttachedFile | str:
        name = part_name(part)
        source = part.source
        try:
            if isinstance(source, DataSource):
                data = await off_loop(len(source.value), base64.b64decode, source.value)
            else:
                data = await self._files.read(source.value)
        except NotFound:
            return f"[The {part.type} {name or 'that was announced'} has not been uploaded.]"
        except binascii.Error:
            return not_given(part.type, name or "that was sent", "its base64 is damaged")
        if not data:
            return not_given(part.type, name or "that was sent", "it is empty")
        kind = await off_loop(len(data) * GUESSING, file_type, data, name, source.mime_type)
        return AttachedFile.of(part, data, kind)

    def _within_bounds(self, file: AttachedFile | str) -> AttachedFile | str:
        if isinstance(file, str) or file.type.kind is FileKind.OTHER:
            return file if isinstance(file, str) else file.not_given(f"it is {file.type.label}")
        if self._held + len(file.data) > MAX_HELD_BYTES:
            return file.not_given("the attachments of the conversation are too large to be given together")
        self._held += len(file.data)
        return file

    async def _pieces(self, content: Content, profile: ModelProfile, room: TextRoom) -> tuple[Piece, ...]:
        if isinstance(content, str):
            return (content,) if content.strip() else ()
        sent: list[Media] = []
        pieces: list[Piece] = []
        for part in content:
            piece = part.text if isinstance(part, TextPart) else await self._piece(part, profile, sent, room)
            if isinstance(piece, Media):
                sent.append(piece)
            if isinstance(piece, Media) or piece.strip():
                pieces.append(piece)
        return tuple(pieces)

    async def _piece(self, part: _Attached, profile: ModelProfile, sent: Sequence[Media], room: TextRoom) -> Piece:
        if isinstance(part.source, UrlSource):
            return linked(part, part.source, profile, sent)
        key = _key(part)
        file = self._read[key]
        if isinstance(file, str):
            return file
        if file.type.kind is FileKind.TEXT:
            return file.framed(file.type.text, room, characters=file.type.characters)
        if file.type.kind is FileKind.IMAGE:
            refusal = file.image_refusal(profile, sent)
            return file.media() if refusal is None else file.not_given(refusal)
        if file.is_document_for(profile, sent):
            return file.media()
        if key not in self._texts:
            self._texts[key] = await self._text(file)
        text = self._texts[key]
        if isinstance(text, str):
            return text
        return file.framed(text.text, room, characters=None if text.is_cut else len(text.text), pages=text.pages)

    async def _text(self, file: AttachedFile) -> DocumentText | str:
        """Return the text of a document, or the sentence in its place."""
        form = _FORMATS.get(file.type.mime_type)
        if form is None:
            return file.not_given(f"it is {file.type.label}, which is not read")
        if self._reader is None:
            return file.not_given(f"it is {file.type.label}, which it does not read")
        now = self._monotonic()
        if self._reading_since is None:
            self._reading_since = now
        seconds = max(0.0, MAX_READING_SECONDS - (now - self._reading_since))
        try:
            return await self._reader.read(file.data, file.name, form, seconds=seconds)
        except DocumentUnreadable as problem:
            return f"[The document {file.name} was not given to the model. {problem.detail}]"


def _attached(content: Content) -> list[_Attached]:
    """Return the parts of a content that have to be read."""
    parts = () if isinstance(content, str) else content
    return [part for part in parts if not isinstance(part, TextPart) and not isinstance(part.source, UrlSource)]


def _key(part: _Attached) -> _Key:
    source = part.source
    return (part.type, source.type, source.value, source.mime_type, part_name(part))
