"""Attachments of messages in the form that a model gets: text, an image, a document, or a sentence in their place."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource

from baton.adapters.models.attachments.content import Media, MediaKind, Piece
from baton.adapters.models.attachments.file_types import FileKind, FileType, detect_file_type
from baton.adapters.models.profiles.profile import ModelProfile
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.errors import DocumentUnreadable, NotFound
from baton.domain.threads.content import Content, find_part_name
from baton.ports.documents.documents import DocumentReader
from baton.ports.documents.files import ThreadFiles
from baton_documents.encodings.text_encoding import GUESSING
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import DOCX, PDF, PPTX, XLSX
from baton_documents.results import DocumentText

MAX_HELD_BYTES = 32 * 1024 * 1024
"""The maximum size of one request's images and documents in memory, in bytes. Earlier ones are only named."""
MAX_READING_SECONDS = 30.0
"""The time limit of reading the documents of one request. Unread documents are only named."""
MAX_TEXT_CHARACTERS = 400_000
"""The largest number of characters of all attachments of a request (about 100,000 tokens)."""
LEAST_CHARACTERS = 500
"""The least room for the beginning of a longer text. With less room, the text is only named."""
_CHARACTERS_A_TOKEN = 4
_AT_ONCE = 4
"""The number of uploads that are read at the same time."""
_FORMATS = {PDF: DocumentFormat.PDF, DOCX: DocumentFormat.DOCX, PPTX: DocumentFormat.PPTX, XLSX: DocumentFormat.XLSX}
_ENDINGS = {PDF: ".pdf", DOCX: ".docx", PPTX: ".pptx", XLSX: ".xlsx", "image/jpeg": ".jpg"} | {
    f"image/{suffix}": f".{suffix}" for suffix in ("png", "gif", "webp")
}
_Attached = ImagePart | DocumentPart
_Key = tuple[str | None, ...]


class TextRoom:
    """The characters that the texts of a request's attachments may still have."""

    def __init__(self, profile: ModelProfile) -> None:
        """The room is half of the model's context at most, if its length is known."""
        of_model = (profile.context_tokens or MAX_TEXT_CHARACTERS) * _CHARACTERS_A_TOKEN // 2
        self._left = min(MAX_TEXT_CHARACTERS, of_model)

    def cut(self, text: str) -> str | None:
        """Return as much of a text as there is room for, and reduce the room by it.

        Return None if the room is less than ``LEAST_CHARACTERS`` and less than the text.
        """
        if self._left < min(len(text), LEAST_CHARACTERS):
            return None
        beginning = text[: self._left]
        self._left -= len(beginning)
        return beginning


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """An attachment that was read."""

    name: str
    size: int
    """Bytes."""
    type: FileType
    data: bytes
    """Empty for a text, which is in ``type``."""

    @classmethod
    def of(cls, part: ImagePart | DocumentPart, data: bytes, file_type: FileType) -> AttachedFile:
        """Return the file of a part. Some endpoints read its type from its name, so a name gets an ending."""
        name = find_part_name(part) or part.type
        if "." not in name:
            name += _ENDINGS.get(file_type.mime_type, "")
        return cls(name, len(data), file_type, b"" if file_type.kind is FileKind.TEXT else data)

    def explain_omission(self, reason: str) -> str:
        """Return the sentence in the file's place."""
        return explain_omission("image" if self.type.mime_type.startswith("image/") else "document", self.name, reason)

    def to_media(self) -> Media:
        """Return the file as it is."""
        kind = MediaKind.IMAGE if self.type.kind is FileKind.IMAGE else MediaKind.DOCUMENT
        return Media(kind, self.name, self.type.mime_type, self.data)

    def is_document_for(self, profile: ModelProfile, sent: Sequence[Media]) -> bool:
        """Return whether the model gets this document itself, beside the media of the message that are ``sent``."""
        return (
            self.type.mime_type in profile.documents
            and (profile.max_document_bytes is None or self.size <= profile.max_document_bytes)
            and not _is_full(MediaKind.DOCUMENT, profile.max_documents, sent)
        )

    def frame(self, text: str, room: TextRoom, *, characters: int | None = None, pages: int | None = None) -> str:
        """Return the text of the file between tags with its name, type and size.

        The text is cut to ``room``; a sentence replaces it if there is too little room. ``characters`` is the length of
        the whole text, None if it is longer by an unknown length. ``pages`` is None for a file without pages.
        """
        cut = room.cut(text)
        if cut is None:
            return self.explain_omission("the documents of the conversation are too long to be given together")
        note = ""
        if characters is None:
            note = f"\n[cut: the document has more than {len(text)} characters]"
        elif characters > len(cut):
            note = f"\n[cut: the document has {characters} characters]"
        pages_attribute = f' pages="{pages}"' if pages else ""
        return (
            f'<document name="{self.name}" type="{self.type.mime_type}" bytes="{self.size}"{pages_attribute}>\n'
            f"{cut}{note}\n</document>"
        )


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

    async def make_all_pieces(self, contents: Sequence[Content], profile: ModelProfile) -> list[tuple[Piece, ...]]:
        """Return the pieces of each content that the model of ``profile`` gets, in order. Blank text is left out.

        An attachment that the model cannot get becomes a sentence with its name and the reason. All limits favour the
        last contents. Raises the errors of the uploads' store except ``NotFound``.
        """
        latest_first = contents[::-1]
        async with self._lock:
            await self._read_all(part for content in latest_first for part in _list_attached(content))
            room = TextRoom(profile)
            return [await self._make_pieces(content, profile, room) for content in latest_first][::-1]

    async def _read_all(self, parts: Iterable[_Attached]) -> None:
        """Read the attachments that were not read yet, in their order, which decides what exceeds the size limit."""
        unread = [*{key: part for part in parts if (key := _make_key(part)) not in self._read}.items()]
        for start in range(0, len(unread), _AT_ONCE):
            batch = unread[start : start + _AT_ONCE]
            files: list[AttachedFile | str] = await gather_all(*(self._read_file(part) for _, part in batch))
            for (key, _), file in zip(batch, files, strict=True):
                self._read[key] = self._admit_file(file)

    async def _read_file(self, part: _Attached) -> AttachedFile | str:
        """Return the file, or the sentence that names it and says why it is missing."""
        name = find_part_name(part)
        source = part.source
        try:
            if isinstance(source, DataSource):
                data = await off_loop(len(source.value), base64.b64decode, source.value)
            else:
                data = await self._files.read(source.value)
        except NotFound:
            return f"[The {part.type} {name or 'that was announced'} has not been uploaded.]"
        except binascii.Error:
            return explain_omission(part.type, name or "that was sent", "its base64 is damaged")
        if not data:
            return explain_omission(part.type, name or "that was sent", "it is empty")
        kind = await off_loop(len(data) * GUESSING, detect_file_type, data, name, source.mime_type)
        return AttachedFile.of(part, data, kind)

    def _admit_file(self, file: AttachedFile | str) -> AttachedFile | str:
        """Return the file and count its bytes, or a sentence if no model gets it or the request would be too large."""
        if isinstance(file, str):
            return file
        if file.type.kind is FileKind.OTHER:
            return file.explain_omission(f"it is {file.type.label}")
        if self._held + len(file.data) > MAX_HELD_BYTES:
            return file.explain_omission("the attachments of the conversation are too large to be given together")
        self._held += len(file.data)
        return file

    async def _make_pieces(self, content: Content, profile: ModelProfile, room: TextRoom) -> tuple[Piece, ...]:
        """Return the pieces of one content, without blank text. Its attachments have been read."""
        if isinstance(content, str):
            return (content,) if content.strip() else ()
        sent: list[Media] = []
        pieces: list[Piece] = []
        for part in content:
            piece = part.text if isinstance(part, TextPart) else await self._make_piece(part, profile, sent, room)
            if isinstance(piece, Media):
                sent.append(piece)
            if isinstance(piece, Media) or piece.strip():
                pieces.append(piece)
        return tuple(pieces)

    async def _make_piece(self, part: _Attached, profile: ModelProfile, sent: Sequence[Media], room: TextRoom) -> Piece:
        """Return an attachment as the model gets it. ``sent`` are the media of the same message before it."""
        if isinstance(part.source, UrlSource):
            return _to_linked_piece(part, part.source, profile, sent)
        key = _make_key(part)
        file = self._read[key]
        if isinstance(file, str):
            return file
        if file.type.kind is FileKind.TEXT:
            return file.frame(file.type.text, room, characters=file.type.characters)
        if file.type.kind is FileKind.IMAGE:
            refusal = _find_image_refusal(profile, sent, file.size)
            return file.to_media() if refusal is None else file.explain_omission(refusal)
        if file.is_document_for(profile, sent):
            return file.to_media()
        if key not in self._texts:
            self._texts[key] = await self._extract_text(file)
        text = self._texts[key]
        if isinstance(text, str):
            return text
        return file.frame(text.text, room, characters=None if text.is_cut else len(text.text), pages=text.pages)

    async def _extract_text(self, file: AttachedFile) -> DocumentText | str:
        """Return the text of a document, or the sentence in its place."""
        form = _FORMATS.get(file.type.mime_type)
        if form is None:
            return file.explain_omission(f"it is {file.type.label}, which is not read")
        if self._reader is None:
            return file.explain_omission(f"it is {file.type.label}, which it does not read")
        now = self._monotonic()
        if self._reading_since is None:
            self._reading_since = now
        seconds = max(0.0, MAX_READING_SECONDS - (now - self._reading_since))
        try:
            return await self._reader.read(file.data, file.name, form, seconds=seconds)
        except DocumentUnreadable as problem:
            return f"[The document {file.name} was not given to the model. {problem.detail}]"


def _list_attached(content: Content) -> list[_Attached]:
    """Return the parts of a content that have to be read."""
    parts = () if isinstance(content, str) else content
    return [part for part in parts if not isinstance(part, TextPart) and not isinstance(part.source, UrlSource)]


def _make_key(part: _Attached) -> _Key:
    source = part.source
    return (part.type, source.type, source.value, source.mime_type, find_part_name(part))


def _to_linked_piece(
    part: ImagePart | DocumentPart, source: UrlSource, profile: ModelProfile, sent: Sequence[Media]
) -> Piece:
    """Return the piece for an attachment at an address: an image, or a sentence."""
    name = find_part_name(part)
    if isinstance(part, DocumentPart):
        # APIs accept few documents by URL, and fetching a caller's URL here would expose our network.
        return f"[Document{f' {name}' if name else ''} at {source.value}]"
    refusal = _find_image_refusal(profile, sent)
    if refusal is None and not profile.image_urls:
        refusal = "it reads no images by their address"
    if refusal is not None:
        return explain_omission("image", name or f"at {source.value}", refusal)
    return Media(MediaKind.IMAGE, name or "image", source.mime_type or "", None, source.value)


def explain_omission(word: str, name: str, reason: str) -> str:
    """Return the sentence in an attachment's place."""
    return f"[The {word} {name} was not given to the model, because {reason}.]"


def _find_image_refusal(profile: ModelProfile, sent: Sequence[Media], size: int = 0) -> str | None:
    """Return why the model does not get an image beside the message's media that are ``sent``; None if it gets it.

    ``size`` is the image's size in bytes, 0 for an image that the provider fetches.
    """
    if profile.max_image_bytes is not None and size > profile.max_image_bytes:
        return f"it reads images of at most {profile.max_image_bytes} bytes"
    if not profile.images:
        return "it reads no images"
    if _is_full(MediaKind.IMAGE, profile.max_images, sent):
        return f"it reads only {profile.max_images} images of a message"
    return None


def _is_full(kind: MediaKind, most: int | None, sent: Sequence[Media]) -> bool:
    return most is not None and sum(media.kind is kind for media in sent) >= most
