"""One attachment as a piece of a message: as it is, as text, or as a sentence that names it and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ag_ui.core import DocumentPart, ImagePart, UrlSource

from baton.adapters.models.attachments.content import Media, MediaKind, Piece
from baton.adapters.models.attachments.file_types import FileKind, FileType
from baton.adapters.models.profiles.profile import ModelProfile
from baton.domain.threads.content import part_name
from baton_documents.media_types import DOCX, PDF, PPTX, XLSX

MAX_TEXT_CHARACTERS = 400_000
"""The largest number of characters of all attachments of a request (about 100,000 tokens)."""
LEAST_CHARACTERS = 500
"""A longer text is named if there is less room than this for its beginning."""
_CHARACTERS_A_TOKEN = 4
_ENDINGS = {PDF: ".pdf", DOCX: ".docx", PPTX: ".pptx", XLSX: ".xlsx", "image/jpeg": ".jpg"} | {
    f"image/{suffix}": f".{suffix}" for suffix in ("png", "gif", "webp")
}


class TextRoom:
    """The characters that the texts of a request's attachments may still have."""

    def __init__(self, profile: ModelProfile) -> None:
        """Half of what the model reads at once, if that is known."""
        of_model = (profile.context_tokens or MAX_TEXT_CHARACTERS) * _CHARACTERS_A_TOKEN // 2
        self._left = min(MAX_TEXT_CHARACTERS, of_model)

    def cut(self, text: str) -> str | None:
        """Return as much of a text as there is room for, or None if there is too little."""
        if len(text) > self._left < LEAST_CHARACTERS:
            return None
        cut = text[: self._left]
        self._left -= len(cut)
        return cut


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
        name = part_name(part) or part.type
        if "." not in name:
            name += _ENDINGS.get(file_type.mime_type, "")
        return cls(name, len(data), file_type, b"" if file_type.kind is FileKind.TEXT else data)

    @property
    def word(self) -> str:
        """The word for the file in a sentence."""
        return "image" if self.type.mime_type.startswith("image/") else "document"

    def not_given(self, reason: str) -> str:
        """Return the sentence in the file's place."""
        return not_given(self.word, self.name, reason)

    def media(self) -> Media:
        """Return the file as it is."""
        kind = MediaKind.IMAGE if self.type.kind is FileKind.IMAGE else MediaKind.DOCUMENT
        return Media(kind, self.name, self.type.mime_type, self.data)

    def image_refusal(self, profile: ModelProfile, sent: Sequence[Media]) -> str | None:
        """Return why the model does not get this image beside what it is ``sent`` of the message already."""
        if profile.max_image_bytes is not None and self.size > profile.max_image_bytes:
            return f"it reads images of at most {profile.max_image_bytes} bytes"
        return _image_refusal(profile, sent)

    def is_document_for(self, profile: ModelProfile, sent: Sequence[Media]) -> bool:
        """Return whether the model reads this document itself beside what it is ``sent`` of the message already."""
        return (
            self.type.mime_type in profile.documents
            and (profile.max_document_bytes is None or self.size <= profile.max_document_bytes)
            and not _is_full(MediaKind.DOCUMENT, profile.max_documents, sent)
        )

    def framed(self, text: str, room: TextRoom, *, characters: int | None = None, pages: int | None = None) -> str:
        """Return the text of the file between tags with its name, type and size.

        ``characters`` is the length of the whole text, None if it is longer by an unknown length.
        """
        cut = room.cut(text)
        if cut is None:
            return self.not_given("the documents of the conversation are too long to be given together")
        note = ""
        if characters is None:
            note = f"\n[cut: the document has more than {len(text)} characters]"
        elif characters > len(cut):
            note = f"\n[cut: the document has {characters} characters]"
        counted = f' pages="{pages}"' if pages else ""
        return (
            f'<document name="{self.name}" type="{self.type.mime_type}" bytes="{self.size}"{counted}>\n'
            f"{cut}{note}\n</document>"
        )


def linked(part: ImagePart | DocumentPart, source: UrlSource, profile: ModelProfile, sent: Sequence[Media]) -> Piece:
    """Return an attachment at an address."""
    name = part_name(part)
    if isinstance(part, DocumentPart):
        # APIs accept few documents by URL, and fetching a caller's URL here would expose our network.
        return f"[Document{f' {name}' if name else ''} at {source.value}]"
    refusal = _image_refusal(profile, sent)
    if refusal is None and not profile.image_urls:
        refusal = "it reads no images by their address"
    if refusal is not None:
        return not_given("image", name or f"at {source.value}", refusal)
    return Media(MediaKind.IMAGE, name or "image", source.mime_type or "", None, source.value)


def not_given(word: str, name: str, reason: str) -> str:
    """Return the sentence in an attachment's place."""
    return f"[The {word} {name} was not given to the model, because {reason}.]"


def _image_refusal(profile: ModelProfile, sent: Sequence[Media]) -> str | None:
    if not profile.images:
        return "it reads no images"
    if _is_full(MediaKind.IMAGE, profile.max_images, sent):
        return f"it reads only {profile.max_images} images of a message"
    return None


def _is_full(kind: MediaKind, most: int | None, sent: Sequence[Media]) -> bool:
    return most is not None and sum(media.kind is kind for media in sent) >= most
