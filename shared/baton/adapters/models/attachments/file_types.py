"""The type of a file: text, an image, a document or something else. Its content decides, not the announced type."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from enum import StrEnum

from baton_documents.encodings.text_encoding import decode_text
from baton_documents.media_types import DOCX, HTML, PDF, PPTX, TEXT, XLSX, MediaType, is_page, type_by_name

MAX_CHARACTERS = 200_000
"""The largest number of characters of a text (about 50,000 tokens)."""

_TEXT_TYPES = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml)"
    r"|application/(csv|javascript|markdown|rtf|sql|toml|x-ndjson|x-sh|x-yaml|typescript|x-javascript)|image/svg\+xml"
)
_CONTROLS = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")
"""Characters that are rare in text, and the replacement character."""
_SAMPLE = 256 * 1024
"""The number of characters that decide whether a file is text."""
_PDF_MARK = b"%PDF-"
_PDF_WITHIN = 1024
"""The number of bytes within which readers accept the mark of a PDF (ISO 32000-1, annex H)."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENTRY = b"PK\x01\x02"
_MAX_ENTRIES = 20_000
"""The maximum number of entries of an archive that is listed. Listing more would take seconds."""


class FileKind(StrEnum):
    """The ways to give a file to a model."""

    TEXT = "text"
    IMAGE = "image"
    DOCUMENT = "document"
    OTHER = "other"
    """No model gets the file."""


@dataclass(frozen=True, slots=True)
class FileType:
    """The type of a file by its content."""

    kind: FileKind
    mime_type: str
    label: str
    """The words for the type in a sentence, after "it is"."""
    text: str = ""
    """The content of a text, cut at ``MAX_CHARACTERS``."""
    characters: int = 0
    """Characters of the whole text."""


_IS_PDF = FileType(FileKind.DOCUMENT, PDF, "a PDF document")
_MARKS = (
    (rb"\x89PNG", FileType(FileKind.IMAGE, "image/png", "a PNG image")),
    (rb"\xff\xd8\xff", FileType(FileKind.IMAGE, "image/jpeg", "a JPEG image")),
    (rb"GIF8[79]a", FileType(FileKind.IMAGE, "image/gif", "a GIF image")),
    (rb"II\*\0", FileType(FileKind.OTHER, "image/tiff", "a TIFF image")),
    (rb"MM\0\*", FileType(FileKind.OTHER, "image/tiff", "a TIFF image")),
    (rb"8BPS\0", FileType(FileKind.OTHER, "image/vnd.adobe.photoshop", "a Photoshop image")),
    (rb"\0\0\x01\0", FileType(FileKind.OTHER, "image/x-icon", "an icon")),
    (rb"\x1f\x8b", FileType(FileKind.OTHER, "application/gzip", "a compressed file")),
    (rb"7z\xbc\xaf\x27\x1c", FileType(FileKind.OTHER, "application/x-7z-compressed", "an archive")),
    (rb"Rar!\x1a\x07", FileType(FileKind.OTHER, "application/vnd.rar", "an archive")),
    (rb"\x7fELF", FileType(FileKind.OTHER, "application/octet-stream", "a program")),
    (rb"SQLite format 3\0", FileType(FileKind.OTHER, "application/vnd.sqlite3", "a database")),
    (rb"RIFF.{4}WEBP", FileType(FileKind.IMAGE, "image/webp", "a WebP image")),
    (rb"BM.{4}\0{4}", FileType(FileKind.OTHER, "image/bmp", "a BMP image")),
    (rb"\0.{3}ftyp(?:heic|heix|mif1|msf1|hevc|avif)", FileType(FileKind.OTHER, "image/heif", "an HEIF image")),
    (rb"\0.{3}ftyp", FileType(FileKind.OTHER, "video/mp4", "a video")),
    (rb"[ \t\r\n\f\xef\xbb\xbf]{0,59}%PDF-", _IS_PDF),
)
"""Beginnings of files, as expressions."""
_OTHER = FileType(FileKind.OTHER, "application/octet-stream", "neither text nor a known kind of document or image")
_ARCHIVE = FileType(FileKind.OTHER, "application/zip", "an archive")
_DAMAGED = FileType(FileKind.OTHER, "application/zip", "damaged or incomplete")
"""An unreadable archive. ``detect_file_type`` calls it a damaged Office file if its name or announced type is such."""
_OFFICE = {
    "word/document.xml": (DOCX, "application/vnd.ms-word.document.macroenabled.12", "a Word document"),
    "ppt/presentation.xml": (PPTX, "application/vnd.ms-powerpoint.presentation.macroenabled.12", "a presentation"),
    "xl/workbook.xml": (XLSX, "application/vnd.ms-excel.sheet.macroenabled.12", "a workbook"),
    "xl/workbook.bin": (None, "application/vnd.ms-excel.sheet.binary.macroenabled.12", "a binary workbook"),
}
"""The main part of an Office file -> the file's type, the media type of a file with macros, and a label."""
_NUMBERED = re.compile(r"(?<!\d)\d{1,9}(?=\.xml\Z)")
"""The number of a main part, as in ``word/document2.xml`` of files that were made in a browser."""
_OLDER = (
    ("EncryptedPackage", FileType(FileKind.OTHER, "application/x-ole-storage", "protected with a password")),
    ("WordDocument", FileType(FileKind.DOCUMENT, "application/msword", "an older Word document")),
    ("PowerPoint Document", FileType(FileKind.DOCUMENT, "application/vnd.ms-powerpoint", "an older presentation")),
    ("Workbook", FileType(FileKind.DOCUMENT, "application/vnd.ms-excel", "an older workbook")),
)
"""Stream in a file of older Office programs -> its type."""
_IS_OLDER = FileType(FileKind.OTHER, "application/x-ole-storage", "an older Office file")


def detect_file_type(data: bytes, name: str | None, announced: str | None) -> FileType:
    """Return the type of ``data``. ``announced`` is its media type as announced, which may be wrong.

    ``announced`` and ``name`` decide the kind of a text, whether an unreadable archive is a damaged Office file, and
    whether data with the mark of a PDF after its first bytes is a PDF.
    """
    media_type = MediaType.parse(announced)
    by_mark = _find_by_mark(data)
    if by_mark is _DAMAGED and not {media_type.essence, type_by_name(name or "")} & {DOCX, PPTX, XLSX}:
        by_mark = _ARCHIVE
    is_late_pdf = by_mark is None and _PDF_MARK in data[:_PDF_WITHIN]
    if is_late_pdf and PDF in (media_type.essence, type_by_name(name or "")):
        return _IS_PDF  # even if all bytes are ASCII
    if by_mark is None:
        by_mark = _detect_text_type(data, media_type, name or "")
    if by_mark is None and is_late_pdf:
        by_mark = _IS_PDF
    return by_mark or _OTHER


def _find_by_mark(data: bytes) -> FileType | None:
    """Return the type that the first bytes of a file show; None if they show none."""
    for mark, marked_type in _MARKS:
        if re.match(mark, data, re.DOTALL):
            return marked_type
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _detect_archive_type(data)
    if data.startswith(_OLE):
        return next((file_type for stream, file_type in _OLDER if stream.encode("utf-16-le") in data), _IS_OLDER)
    return None


def _detect_archive_type(data: bytes) -> FileType:
    """Return the type of a ZIP file: an Office or OpenDocument file, another archive, or ``_DAMAGED``."""
    if data.count(_ENTRY) > _MAX_ENTRIES:
        return _ARCHIVE
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {_NUMBERED.sub("", name.lower()) for name in archive.namelist()}
            has_macros = any(name.endswith("vbaproject.bin") for name in names)
            for part, (media_type, with_macros, label) in _OFFICE.items():
                if part in names:
                    return FileType(
                        FileKind.DOCUMENT, with_macros if has_macros or not media_type else media_type, label
                    )
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
                declared = archive.read("mimetype").decode("ascii", "replace").strip()
                if declared.startswith("application/vnd.oasis.opendocument."):
                    return FileType(FileKind.DOCUMENT, declared, "an OpenDocument file")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, KeyError, OSError, RuntimeError):
        # What zipfile raises for archives that are damaged, encrypted or of a later version.
        return _DAMAGED
    return _ARCHIVE


def _detect_text_type(data: bytes, media_type: MediaType, name: str) -> FileType | None:
    """Return the type of a text with its content; None for data with too many control characters for a text."""
    claims = [essence for essence in (media_type.essence, type_by_name(name)) if _TEXT_TYPES.fullmatch(essence)]
    media = claims[0] if claims else HTML if is_page(data) else TEXT
    # Without a type, a text may be one that declares its encoding.
    text = decode_text(data, MediaType(media if claims or media == HTML else "", media_type.charset))
    sample = text[:_SAMPLE]
    controls = len(_CONTROLS.findall(sample))
    # A file whose name or type says that it is text may have some damaged bytes.
    if controls > (max(2, len(sample) // 20) if claims else len(sample) // 100):
        return None
    return FileType(FileKind.TEXT, media, "a text", text[:MAX_CHARACTERS].replace("\0", "\ufffd"), len(text))
