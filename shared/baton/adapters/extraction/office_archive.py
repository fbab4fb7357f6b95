"""Office files as archives: what is checked before a library opens one.

Nothing outside a file is ever read: the libraries follow no external relation, and resolve no entity.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from baton.adapters.extraction import refusals
from baton.adapters.extraction.sheet_bounds import check_sheets
from baton.domain.document import DocumentFormat

MAX_ENTRIES = 20_000
MAX_UNPACKED = 256 * 1024 * 1024
"""Bytes of all entries. Libraries keep them in memory."""
MAX_XML = 48 * 1024 * 1024
"""Bytes of an entry that is parsed into a tree, which takes some ten times as much memory."""
_PIECE = 1024 * 1024
_MAIN_PARTS = {
    "word/document.xml": DocumentFormat.DOCX,
    "ppt/presentation.xml": DocumentFormat.PPTX,
    "xl/workbook.xml": DocumentFormat.XLSX,
}
_DTD = re.compile(rb"<!(DOCTYPE|ENTITY)|<\0!\0[DE]\0|\0<\0!\0[DE]", re.IGNORECASE)


def format_of(body: bytes) -> DocumentFormat | str:
    """Return the format of an archive after checking it. Raises ``DocumentUnreadable`` for what must not be opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _checked(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError):
        raise refusals.damaged() from None
    except RuntimeError:  # a password is needed
        raise refusals.encrypted() from None


def _checked(archive: zipfile.ZipFile) -> DocumentFormat | str:
    entries = archive.infolist()
    names = {entry.filename.lower() for entry in entries}
    if any(entry.flag_bits & 1 for entry in entries):
        raise refusals.encrypted()
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise refusals.bomb()
    form = next((form for part, form in _MAIN_PARTS.items() if part in names), None)
    if form is None or "[content_types].xml" not in names:
        return "an archive"
    if len(names) != len(entries):  # readers differ in which of two entries they take
        raise refusals.damaged()
    if any(name.rpartition("/")[2] in ("vbaproject.bin", "vbadata.xml") for name in names):
        raise refusals.with_macros()
    for entry in entries:
        if entry.filename.lower().endswith((".xml", ".rels")):
            _check_xml(archive, entry, form)
    if form is DocumentFormat.XLSX:
        check_sheets(archive)
    return form


def _check_xml(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, form: DocumentFormat) -> None:
    """Read an entry in pieces, which fails if it is larger than it says, or another one than its checksum says."""
    is_table = form is DocumentFormat.XLSX and entry.filename.lower().startswith("xl/")
    if entry.file_size > (MAX_UNPACKED if is_table else MAX_XML):
        raise refusals.bomb()
    before = b""
    with archive.open(entry) as content:
        while piece := content.read(_PIECE):
            text = before + piece
            if _DTD.search(text):
                raise refusals.unsafe()
            if b"macroEnabled" in text and entry.filename.lower() == "[content_types].xml":
                raise refusals.with_macros()
            before = piece[-64:]
