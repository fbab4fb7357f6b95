"""Media types, and the formats that they and names of files allow. The content decides between them."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import PurePosixPath

from baton_documents.formats import MEDIA_TYPES, DocumentFormat

OCTETS = "application/octet-stream"
MAX_LENGTH = 255
"""The most characters of a media type with its parameters."""

_ESSENCE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}", re.ASCII)
_CHARSET = re.compile(r"[\w.:()+-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type with its charset. No other parameter changes how a file is read."""

    essence: str
    """The type and subtype in lower case; empty if they are unknown."""
    charset: str | None = None
    """The label of an encoding, in lower case; None without one."""

    @classmethod
    def parse(cls, announced: str | None) -> MediaType:
        """Return the type that ``announced`` names; ``UNKNOWN`` if it names none or exceeds ``MAX_LENGTH``."""
        essence = (announced or "").partition(";")[0].strip().lower()
        if not _ESSENCE.fullmatch(essence) or len(announced or "") > MAX_LENGTH:
            return cls("")
        return cls(essence, _read_charset(announced or ""))

    def __str__(self) -> str:
        """Return the type as a header contains it, and ``application/octet-stream`` for an unknown one."""
        return (self.essence or OCTETS) + (f"; charset={self.charset}" if self.charset else "")

    @property
    def kind(self) -> str:
        """The part before the slash."""
        return self.essence.partition("/")[0]


UNKNOWN = MediaType("")


def is_media_type(announced: str) -> bool:
    """Return whether ``announced`` is empty or names a media type, with or without parameters, in ``MAX_LENGTH``."""
    return not announced.strip() or bool(MediaType.parse(announced).essence)


def _read_charset(announced: str) -> str | None:
    if ";" not in announced:
        return None
    header = Message()
    header["Content-Type"] = re.sub(r"[\x00-\x1f\x7f]", " ", announced)
    param = header.get_param("charset")
    label = param if isinstance(param, str) else param[2] if param is not None else ""
    label = label.strip(" '\"").lower()
    return label if _CHARSET.fullmatch(label) else None


PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
HTML, MARKDOWN, TEXT, CSV = "text/html", "text/markdown", "text/plain", "text/csv"

TEXTS = (DocumentFormat.TEXT, DocumentFormat.MARKDOWN, DocumentFormat.CSV, DocumentFormat.HTML)
_STANDARD = {
    DocumentFormat.PDF: PDF,
    DocumentFormat.DOCX: DOCX,
    DocumentFormat.PPTX: PPTX,
    DocumentFormat.XLSX: XLSX,
    DocumentFormat.HTML: HTML,
    DocumentFormat.MARKDOWN: MARKDOWN,
    DocumentFormat.TEXT: TEXT,
    DocumentFormat.CSV: CSV,
}
"""The registered type of each format."""
OFFICE = (DocumentFormat.DOCX, DocumentFormat.PPTX, DocumentFormat.XLSX)

SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("application/x-pdf", "application/acrobat", "application/vnd.pdf", "text/pdf", "text/x-pdf"), PDF),
    **dict.fromkeys(
        (
            "text/x-markdown", "text/x-web-markdown", "text/md", "application/markdown", "application/x-markdown",
        ),
        MARKDOWN,
    ),
    **dict.fromkeys(
        (
            "application/csv", "application/x-csv", "text/x-csv", "text/comma-separated-values",
            "text/x-comma-separated-values", "text/tab-separated-values", "text/tsv", "text/x-tsv",
        ),
        CSV,
    ),
    **dict.fromkeys(("application/txt", "application/text", "application/x-txt", "text/text", "text/anytext"), TEXT),
    "application/wps-office.docx": DOCX,
    "application/wps-office.pptx": PPTX,
    "application/wps-office.xlsx": XLSX,
    **dict.fromkeys(("application/html", "text/x-html", "application/vnd.wap.xhtml+xml"), HTML),
}  # fmt: skip
"""Other names of types of documents, which browsers and systems use -> the registered type."""
_ANYTHING = (*TEXTS, DocumentFormat.PDF, *OFFICE)
_VAGUE: Mapping[str, tuple[DocumentFormat, ...]] = {
    **dict.fromkeys(
        (
            "", OCTETS, "binary/octet-stream", "application/binary", "application/download", "application/x-download",
            "application/force-download", "application/save", "application/unknown", "application/x-unknown",
            "application/x-unknown-content-type", "unknown/unknown", "application/x-octet-stream", "*/*",
        ),
        _ANYTHING,
    ),
    **dict.fromkeys(("application/zip", "application/x-zip", "application/x-zip-compressed"), OFFICE),
    # Windows derives the type from the program that opens a file, and Excel opens CSV too.
    **dict.fromkeys(
        (
            "application/vnd.ms-excel", "application/excel", "application/msexcel", "application/x-excel",
            "application/x-msexcel", "application/kset",
        ),
        (DocumentFormat.CSV, DocumentFormat.XLSX),
    ),
    "application/msword": (DocumentFormat.DOCX,),
    "application/vnd.ms-word": (DocumentFormat.DOCX,),
    "application/vnd.ms-powerpoint": (DocumentFormat.PPTX,),
    "application/mspowerpoint": (DocumentFormat.PPTX,),
    TEXT: (DocumentFormat.TEXT, DocumentFormat.MARKDOWN, DocumentFormat.CSV),
    "text/xml": (DocumentFormat.HTML, DocumentFormat.MARKDOWN, DocumentFormat.CSV, DocumentFormat.TEXT),
    "application/xml": (DocumentFormat.HTML, DocumentFormat.MARKDOWN, DocumentFormat.CSV, DocumentFormat.TEXT),
}  # fmt: skip
"""Types that stand for several formats, or for any -> the formats."""
_BY_ENDING = {
    ".pdf": PDF,
    ".docx": DOCX,
    ".pptx": PPTX,
    ".xlsx": XLSX,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": "application/xhtml+xml",
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": TEXT,
    ".csv": CSV,
    ".tsv": CSV,
}
_OTHERS = mimetypes.MimeTypes()
"""Python's own table, without the types that a system adds, which differ between systems."""
_PAGE = re.compile(
    rb"\s*+(?:<\?xml[^>]*>\s*+)?(?:<!--.*?-->\s*+)*+<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)


def find_formats(media_type: MediaType, name: str) -> tuple[DocumentFormat, ...]:
    """Return the formats that a document may have; empty if it is not a document.

    If the type stands for several formats, the ending of ``name``, which may be a path, decides between texts. Without
    a known ending, plain text has the format TEXT, and XML is not a document.
    """
    essence = standardise_type(media_type.essence)
    formats = _VAGUE.get(essence)
    if formats is None:
        return (MEDIA_TYPES[essence],) if essence in MEDIA_TYPES else ()
    by_name = type_by_name(name)
    named = MEDIA_TYPES.get(by_name)
    if named in formats:
        return (named, *(form for form in formats if form not in TEXTS and form is not named))
    if essence == TEXT:
        return (DocumentFormat.TEXT,)
    is_other = by_name not in ("", OCTETS) and named is None
    return () if is_other or essence.endswith("/xml") else formats


def find_type(media_type: MediaType, name: str) -> MediaType | None:
    """Return the registered type of a document, with its charset; None if it is not a document.

    It is ``application/octet-stream`` if only the content can show the type.
    """
    formats = find_formats(media_type, name)
    if not formats:
        return None
    essence, by_name = standardise_type(media_type.essence), type_by_name(name)
    if essence not in _VAGUE:
        standard_type = essence
    elif MEDIA_TYPES.get(by_name) is formats[0]:
        standard_type = by_name
    elif essence == TEXT:
        standard_type = TEXT
    else:
        standard_type = _STANDARD[formats[0]] if len(formats) == 1 else OCTETS
    return MediaType(standard_type, media_type.charset)


def type_by_name(name: str) -> str:
    """Return the media type of a name by its ending, the same on every system; empty if the ending is unknown."""
    document_type = _BY_ENDING.get(PurePosixPath(name).suffix.lower())
    if document_type is not None:
        return document_type
    other_type, packed = _OTHERS.guess_type(PurePosixPath(name).name.lower())
    return "application/gzip" if packed else other_type or ""


def choose_text_format(formats: tuple[DocumentFormat, ...], body: bytes) -> DocumentFormat | None:
    """Return the format of a text: HTML for a page if ``formats`` has it, otherwise their first format of texts.

    None if they have none.
    """
    texts = [form for form in formats if form in TEXTS]
    if DocumentFormat.HTML in texts and is_page(body):
        return DocumentFormat.HTML
    return texts[0] if texts else None


def standardise_type(essence: str) -> str:
    """Return the registered type for a synonym, and any other type itself."""
    return SYNONYMS.get(essence, essence)


def is_page(body: bytes) -> bool:
    """Return whether a text begins as a web page does."""
    return _PAGE.match(body[:4096]) is not None
