"""Detection of a file's format by its content."""

from __future__ import annotations

from pathlib import PurePosixPath

from baton_documents import refusals
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import TEXTS, MediaType, formats_of, is_page, text_format
from baton_documents.text import foreign_texts, plain_text

_PDF_WITHIN = 1024
"""The first bytes of a file that must contain the mark of a PDF (ISO 32000-1, annex H)."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of older Office files, and of newer ones that a password protects."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MACRO_SUFFIXES = frozenset({".docm", ".dotm", ".pptm", ".potm", ".ppsm", ".xlsm", ".xltm", ".xlam"})
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF", b"\x1f\x8b", b"\x7fELF", b"MZ\x90")


def detect(body: bytes, name: str, content_type: str) -> DocumentFormat:
    """Return the format of a file, which its media type announces and its content confirms.

    If the type stands for several formats, or for none, the content and the ending of the name decide. Raises
    ``DocumentRefused`` if the file is not a document, or is another one than announced.
    """
    if not body.strip():
        raise refusals.empty()
    if PurePosixPath(name).suffix.lower() in _MACRO_SUFFIXES:
        raise refusals.with_macros()
    media_type = MediaType.parse(content_type)
    formats = formats_of(media_type, name)
    if not formats:
        raise refusals.unsupported(content_type)
    form = _binary_format(body) or text_format(formats, body)
    if form is not None and not isinstance(form, DocumentFormat) and len(formats) > 1:
        raise refusals.unsupported(form[0].upper() + form[1:])  # the type announced no format that could be wrong
    if not isinstance(form, DocumentFormat) or form not in formats:
        raise refusals.mislabelled(formats[0].value.upper(), _describe_format(form, body))
    if form in TEXTS and not plain_text.decoded(body[: 1024 * 1024], media_type).strip("\ufeff \t\n\r\f\v"):
        raise refusals.empty()
    return form


def _binary_format(body: bytes) -> DocumentFormat | str | None:
    """Return the format of content that is not text, or a word for a format that is not read; None for text."""
    if b"%PDF-" in body[:_PDF_WITHIN]:
        return DocumentFormat.PDF
    if body.startswith(_OLE):
        if _ENCRYPTED in body:
            raise refusals.encrypted()
        return "an older Office file"
    if body.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        from baton_documents.office import archive as office_archive

        return office_archive.format_of(body)
    if body.startswith(_IMAGES):
        return "binary"
    if (foreign := foreign_texts.foreign_format(body)) is not None:
        raise refusals.other_format(*foreign)
    return None


def _describe_format(form: DocumentFormat | str | None, body: bytes) -> str:
    if isinstance(form, DocumentFormat):
        return form.value.upper()
    if form is not None:
        return form
    return "HTML" if is_page(body) else "something else"
