"""Detection of a file's format by its content."""

from __future__ import annotations

from pathlib import PurePosixPath

from baton_documents import refusals
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import TEXTS, MediaType, choose_text_format, find_formats, is_page
from baton_documents.text import foreign_texts, plain_text

_PDF_MARK_WITHIN = 1024
"""The number of bytes at the beginning of a PDF that contain its mark (ISO 32000-1, annex H)."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of older Office files, and of newer ones that a password protects."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MACRO_SUFFIXES = frozenset({".docm", ".dotm", ".pptm", ".potm", ".ppsm", ".xlsm", ".xltm", ".xlam"})
_BINARY = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF", b"\x1f\x8b", b"\x7fELF", b"MZ\x90")


def detect(body: bytes, name: str, content_type: str) -> DocumentFormat:
    """Return the format of a file, which its media type announces and its content confirms.

    If the type is missing or stands for several formats, the content and the ending of the name decide.

    Raises ``DocumentRefused`` if the file is empty, is no document or of another format than announced, has macros, or
    is encrypted.
    """
    if not body.strip():
        raise refusals.empty()
    if PurePosixPath(name).suffix.lower() in _MACRO_SUFFIXES:
        raise refusals.with_macros()
    media_type = MediaType.parse(content_type)
    formats = find_formats(media_type, name)
    if not formats:
        raise refusals.unsupported(content_type)
    form = _detect_binary_format(body) or choose_text_format(formats, body)
    if form is not None and not isinstance(form, DocumentFormat) and len(formats) > 1:
        raise refusals.unsupported(form[0].upper() + form[1:])  # the type announced no format that could be wrong
    if not isinstance(form, DocumentFormat) or form not in formats:
        raise refusals.mislabelled(formats[0].value.upper(), _describe_format(form, body))
    if form in TEXTS and not plain_text.read_text(body[: 1024 * 1024], media_type).strip("\ufeff \t\n\r\f\v"):
        raise refusals.empty()
    return form


def _detect_binary_format(body: bytes) -> DocumentFormat | str | None:
    """Return the format of content that is not text, or words for a format that is not read; None for text.

    Raises ``DocumentRefused`` for an encrypted file, and for a format whose documents can be saved in another format.
    """
    if b"%PDF-" in body[:_PDF_MARK_WITHIN]:
        return DocumentFormat.PDF
    if body.startswith(_OLE):
        if _ENCRYPTED in body:
            raise refusals.encrypted()
        return "an older Office file"
    if body.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        from baton_documents.office import archive as office_archive

        return office_archive.check_archive(body)
    if body.startswith(_BINARY):
        return "binary"
    if (foreign := foreign_texts.detect_foreign_format(body)) is not None:
        raise refusals.other_format(*foreign)
    return None


def _describe_format(form: DocumentFormat | str | None, body: bytes) -> str:
    if isinstance(form, DocumentFormat):
        return form.value.upper()
    if form is not None:
        return form
    return "HTML" if is_page(body) else "something else"
