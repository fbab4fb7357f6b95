"""Checks of Office files as archives before they are read.

A file has a format only if both its package and its main part say so, because readers that go by names read other files
as the same format. Nothing outside a file is ever read, and no entity is resolved.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from typing import IO

from lxml import etree

from baton_documents import refusals
from baton_documents.formats import DocumentFormat
from baton_documents.office.package import TYPES, OfficePackage, is_xml, make_relations_name, normalise_part_name
from baton_documents.office.xml import XmlRoom, qname

MAX_ENTRIES = 20_000
"""The most entries of an archive."""
MAX_UNPACKED = 256 * 1024 * 1024
"""The most bytes of all unpacked entries."""
MAX_XML = 32 * 1024 * 1024
"""The most bytes of all entries that are parsed into trees, which take about ten times as much memory."""
MAX_RATIO = 500
"""The largest ratio of unpacked to packed bytes of an entry that is larger than ``_RATIO_FROM`` bytes."""
_RATIO_FROM = 16 * 1024 * 1024
_LOCAL_HEADER = 30
"""The bytes of an entry's header without its name (APPNOTE 4.3.7)."""
_ENTRY = b"PK\x01\x02"
_PIECE = 1024 * 1024
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument."
_MAIN_TYPES = {
    f"{_OFFICE_TYPE}wordprocessingml.document.main+xml": DocumentFormat.DOCX,
    f"{_OFFICE_TYPE}wordprocessingml.template.main+xml": DocumentFormat.DOCX,
    f"{_OFFICE_TYPE}presentationml.presentation.main+xml": DocumentFormat.PPTX,
    f"{_OFFICE_TYPE}presentationml.template.main+xml": DocumentFormat.PPTX,
    f"{_OFFICE_TYPE}presentationml.slideshow.main+xml": DocumentFormat.PPTX,
    f"{_OFFICE_TYPE}spreadsheetml.sheet.main+xml": DocumentFormat.XLSX,
    f"{_OFFICE_TYPE}spreadsheetml.template.main+xml": DocumentFormat.XLSX,
}
_ROOTS = {
    DocumentFormat.DOCX: qname("w:document"),
    DocumentFormat.PPTX: qname("p:presentation"),
    DocumentFormat.XLSX: qname("s:workbook"),
}
_OPEN_DOCUMENT = {
    "text": ("an OpenDocument text (ODT)", "DOCX"),
    "presentation": ("an OpenDocument presentation (ODP)", "PPTX"),
    "spreadsheet": ("an OpenDocument spreadsheet (ODS)", "XLSX"),
}
_IS_OPEN_DOCUMENT = ("an OpenDocument file (ODT, ODS or ODP)", "DOCX, XLSX or PPTX")
_DTD = re.compile(rb"<!(DOCTYPE|ENTITY)|<\0!\0[DE]\0|\0<\0!\0[DE]", re.IGNORECASE)


def check_archive(body: bytes) -> DocumentFormat | str:
    """Check an archive, and return its format, or words for another kind of archive.

    Raises ``DocumentRefused`` if the archive is damaged, encrypted, unsafe or too large, has macros, or has a format
    whose documents can be saved in another format.
    """
    if body.count(_ENTRY) > MAX_ENTRIES:  # a list of the entries takes memory
        raise refusals.bomb()
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _check_entries(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError, KeyError):
        raise refusals.damaged() from None
    except etree.LxmlError:
        raise refusals.damaged() from None
    except RuntimeError:  # a password is needed
        raise refusals.encrypted() from None


def _check_entries(archive: zipfile.ZipFile) -> DocumentFormat | str:
    """Check the entries of an archive, as ``check_archive`` does."""
    entries = archive.infolist()
    names = {normalise_part_name(entry.filename) for entry in entries}
    if any(entry.flag_bits & 1 for entry in entries):
        raise refusals.encrypted()
    _check_sizes(entries)
    _refuse_other_formats(archive, names)
    if TYPES not in names or "_rels/.rels" not in names:
        return "an archive"
    if len(names) != len(entries):  # readers differ in which of two equal names they read
        raise refusals.damaged()
    _check_positions(archive, entries)
    if any(name.rpartition("/")[2] in ("vbaproject.bin", "vbadata.xml") for name in names):
        raise refusals.with_macros()
    for entry in entries:
        if is_xml(entry.filename):
            with archive.open(entry) as content:
                _scan_xml(content, is_types=normalise_part_name(entry.filename) == TYPES)
    return _find_format(OfficePackage(archive), entries)


def _check_sizes(entries: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse archives whose entries are too many, or too large when they are unpacked."""
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise refusals.bomb()
    for entry in entries:
        if entry.file_size > _RATIO_FROM and entry.file_size > MAX_RATIO * entry.compress_size:
            raise refusals.bomb()


def _check_positions(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse entries that share bytes, which could be unpacked many times, and methods that need more memory."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refusals.damaged()
        end = entry.header_offset + _LOCAL_HEADER + entry.compress_size
    if end > archive.start_dir:
        raise refusals.damaged()


def _refuse_other_formats(archive: zipfile.ZipFile, names: set[str]) -> None:
    """Refuse formats of other programs by names of entries, and name the format to convert to."""
    if "mimetype" in names or "content.xml" in names:
        entry = next((entry for entry in archive.infolist() if normalise_part_name(entry.filename) == "mimetype"), None)
        with archive.open(entry) if entry else io.BytesIO() as content:
            declared = content.read(100).decode("ascii", "replace").strip()
        if declared == "application/epub+zip":
            raise refusals.other_format("an e-book (EPUB)", "PDF")
        kind = declared.removeprefix("application/vnd.oasis.opendocument.").removesuffix("-template")
        raise refusals.other_format(*_OPEN_DOCUMENT.get(kind, _IS_OPEN_DOCUMENT))
    if "xl/workbook.bin" in names:
        raise refusals.other_format("a binary workbook (XLSB)", "XLSX")
    if "index/document.iwa" in names:
        raise refusals.other_format("a file of Apple's iWork", "DOCX, XLSX or PPTX")


def _scan_xml(content: IO[bytes], *, is_types: bool = False) -> None:
    """Refuse XML with a DTD or macros. The whole entry is read, which fails if its size or checksum is wrong."""
    before = b""
    while piece := content.read(_PIECE):
        text = before + piece
        if _DTD.search(text):
            raise refusals.unsafe()
        if is_types and b"macroEnabled" in text:
            raise refusals.with_macros()
        before = piece[-64:]


def _find_format(package: OfficePackage, entries: Sequence[zipfile.ZipInfo]) -> DocumentFormat | str:
    """Return the format that the type and the root of the main part have, or words for another kind of file."""
    sizes = {normalise_part_name(entry.filename): entry.file_size for entry in entries}
    counted: dict[str, str] = {}
    room = XmlRoom()

    def count(*names: str) -> None:
        """Count entries of XML that become trees, unless they are counted already. Their sizes are checked first."""
        counted.update(dict.fromkeys(new := set(names) & sizes.keys() - counted.keys(), ""))
        if sum(sizes[part] for part in counted) > MAX_XML:
            raise refusals.bomb()
        for name in new:
            with package.open(name) as content:
                counted[name] = room.add(content)

    count(TYPES, "_rels/.rels")
    main = package.main
    if main is None:
        return "an archive"
    form = _MAIN_TYPES.get(package.find_content_type(main))
    if form is None:
        return "an Office file of another kind"
    if form is DocumentFormat.XLSX:
        # Sheets and shared strings are not parsed into trees.
        count(main, make_relations_name(main))
        count(package.find_related(main, "styles") or main)
        for relation in package.find_relations(main).values():
            if relation.target in package and not is_xml(relation.target):
                with package.open(relation.target) as content:
                    _scan_xml(content)
    else:
        count(*filter(is_xml, sizes))
    if counted.get(main) != _ROOTS[form]:
        raise refusals.damaged()
    return form
