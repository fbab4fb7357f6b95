"""Workbooks with their sheets, formats and shared texts."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from lxml import etree

from baton_documents import refusals
from baton_documents.office import drawings
from baton_documents.office.package import OfficePackage, blank_repeated, make_relations_name
from baton_documents.office.xml import XmlRoom, qname
from baton_documents.results import BlockKind, TextBlock
from baton_documents.sheets.cell import parse_integer
from baton_documents.sheets.number_formats import NumberFormat, make_format
from baton_documents.sheets.shared_texts import SharedTexts

PROBLEMS = (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, etree.LxmlError)
"""Exceptions for parts that are missing or damaged."""
MAX_SHEETS = 5_000
"""The most visible sheets."""
MAX_FORMATS = 100_000
"""The most formats of cells (Excel allows 65,490)."""
_ON = ("1", "true")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A visible sheet: its name, and the name of the part with its cells."""

    name: str
    part: str


class Workbook:
    """A workbook, whose file ``archive.check_archive`` has checked. Raises ``DocumentRefused`` if it is damaged."""

    def __init__(self, body: bytes) -> None:
        try:
            self._package = OfficePackage.from_bytes(body)
            self._room = XmlRoom()
            self._main = self._package.main or ""
            self._root = self._package.read_tree(self._main)
            self.sheets = self._find_visible_sheets()
        except PROBLEMS:
            raise refusals.damaged() from None

    def open(self, sheet: Sheet) -> IO[bytes]:
        """Open the cells of a sheet for reading as a stream."""
        return self._package.open(sheet.part)

    def read_drawings(self, sheet: Sheet) -> Iterator[TextBlock]:
        """Yield the texts of shapes and the titles of charts on a sheet.

        The values of charts are left out, because cells contain them. Raises the exceptions in ``PROBLEMS``.
        """
        for name in self._find_related(sheet.part, "drawing")[:1]:
            yield from _read_shape_texts(self._read_tree(name))
            for chart in self._find_related(name, "chart"):
                blocks = drawings.read_chart(self._read_tree(chart))
                yield from (block for block in blocks if block.kind is not BlockKind.TABLE)

    def _find_related(self, name: str, kind: str) -> list[str]:
        """Count a part's relations, and return the names of the parts of a kind that the part refers to."""
        relations = make_relations_name(name)
        if relations not in self._package:
            return []
        self._count(relations)
        return [relation.target for relation in self._package.find_relations(name).values() if relation.kind == kind]

    def _read_tree(self, name: str) -> Any:
        """Return the root of a part's tree, and count the part."""
        self._count(name)
        return self._package.read_tree(name)

    def _count(self, name: str) -> None:
        """Count a part before it becomes a tree. Only the workbook's own parts have been counted before."""
        with self._package.open(name) as content:
            self._room.add(content)

    @cached_property
    def shared_texts(self) -> SharedTexts:
        """The texts that cells share; empty if the file has none."""
        name = self._package.find_related(self._main, "sharedStrings")
        if name is None:
            return SharedTexts()
        with self._package.open(name) as content:
            return SharedTexts.read(content)

    @cached_property
    def formats(self) -> list[NumberFormat]:
        """The formats of cells, whose index is a cell's attribute ``s``; empty if the file has none."""
        name = self._package.find_related(self._main, "styles")
        root = self._package.read_tree(name) if name is not None else None
        if root is None:
            return []
        codes = {
            parse_integer(element.get("numFmtId")): element.get("formatCode", "")
            for element in root.iterfind(f"{qname('s:numFmts')}/{qname('s:numFmt')}")
        }
        formats: dict[int, NumberFormat] = {}
        number_formats: list[NumberFormat] = []
        for element in root.iterfind(f"{qname('s:cellXfs')}/{qname('s:xf')}"):
            number = parse_integer(element.get("numFmtId"))
            if number not in formats:
                formats[number] = make_format(number, codes, from_1904=self._counts_from_1904)
            number_formats.append(formats[number])
            if len(number_formats) >= MAX_FORMATS:
                break
        return number_formats

    @property
    def is_stale(self) -> bool:
        """Whether results are to be calculated when the file is opened, and so may never have been calculated."""
        properties = self._root.find(qname("s:calcPr"))
        return properties is not None and properties.get("fullCalcOnLoad") in _ON

    @property
    def _counts_from_1904(self) -> bool:
        properties = self._root.find(qname("s:workbookPr"))
        return properties is not None and properties.get("date1904") in _ON

    def _find_visible_sheets(self) -> list[Sheet]:
        relations = self._package.find_relations(self._main)
        sheets = []
        for sheet in self._root.iterfind(f"{qname('s:sheets')}/{qname('s:sheet')}"):
            relation = relations.get(sheet.get(qname("r:id"), ""))
            is_visible = sheet.get("state", "visible") == "visible"
            if is_visible and relation is not None and relation.kind == "worksheet":
                sheets.append((sheet.get("name", ""), relation.target))
        if len(sheets) > MAX_SHEETS:
            raise refusals.too_long()
        parts = blank_repeated(part for _, part in sheets)
        return [Sheet(name, part) for (name, _), part in zip(sheets, parts, strict=True)]


def _read_shape_texts(container: Any) -> Iterator[TextBlock]:
    """Yield the texts of visible shapes. If a shape has several forms, the newest is used."""
    for child in container:
        if child.tag == qname("mc:Fallback") or _is_hidden(child):
            continue
        if child.tag == qname("xdr:txBody"):
            for text in drawings.read_paragraphs(child):
                yield TextBlock(BlockKind.PARAGRAPH, text)
        else:
            yield from _read_shape_texts(child)


def _is_hidden(shape: Any) -> bool:
    properties = shape[0].find(qname("xdr:cNvPr")) if len(shape) else None
    return properties is not None and properties.get("hidden") in _ON
