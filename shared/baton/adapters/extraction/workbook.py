"""Workbooks as a whole: their sheets, formats and shared texts."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from lxml import etree

from baton.adapters.extraction import refusals
from baton.adapters.extraction.number_formats import NumberFormat, format_of
from baton.adapters.extraction.office_package import OfficePackage
from baton.adapters.extraction.office_xml import qname
from baton.adapters.extraction.shared_texts import SharedTexts

PROBLEMS = (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, etree.LxmlError)
"""Raised for parts that are missing or damaged."""
MAX_FORMATS = 100_000
"""Formats of cells (Excel takes 65,490)."""
_ON = ("1", "true")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A visible sheet with cells."""

    name: str
    part: str


class Workbook:
    """A workbook that has been checked."""

    def __init__(self, body: bytes) -> None:
        try:
            self._package = OfficePackage.opened(body)
            self._main = self._package.main or ""
            self._root = self._package.tree(self._main)
            self.sheets = self._visible_sheets()
        except PROBLEMS:
            raise refusals.damaged() from None

    def open(self, sheet: Sheet) -> IO[bytes]:
        """Open the cells of a sheet to read them as a stream."""
        return self._package.open(sheet.part)

    @cached_property
    def shared_texts(self) -> SharedTexts:
        name = self._package.related(self._main, "sharedStrings")
        if name is None:
            return SharedTexts()
        with self._package.open(name) as content:
            return SharedTexts.read(content)

    @cached_property
    def formats(self) -> list[NumberFormat]:
        """Return the formats of cells by their numbers (``s``)."""
        name = self._package.related(self._main, "styles")
        root = self._package.tree(name) if name is not None else None
        if root is None:
            return []
        codes = {
            _number(each.get("numFmtId")): each.get("formatCode", "")
            for each in root.iterfind(f"{qname('s:numFmts')}/{qname('s:numFmt')}")
        }
        made: dict[int, NumberFormat] = {}
        found: list[NumberFormat] = []
        for each in root.iterfind(f"{qname('s:cellXfs')}/{qname('s:xf')}"):
            number = _number(each.get("numFmtId"))
            if number not in made:
                made[number] = format_of(number, codes, from_1904=self._counts_from_1904)
            found.append(made[number])
            if len(found) >= MAX_FORMATS:
                break
        return found

    @property
    def is_stale(self) -> bool:
        """Return True if results are to be calculated when the file is opened: they may never have been."""
        properties = self._root.find(qname("s:calcPr"))
        return properties is not None and properties.get("fullCalcOnLoad") in _ON

    @property
    def _counts_from_1904(self) -> bool:
        properties = self._root.find(qname("s:workbookPr"))
        return properties is not None and properties.get("date1904") in _ON

    def _visible_sheets(self) -> list[Sheet]:
        relations = self._package.relations(self._main)
        found = []
        for each in self._root.iterfind(f"{qname('s:sheets')}/{qname('s:sheet')}"):
            relation = relations.get(each.get(qname("r:id"), ""))
            is_visible = each.get("state", "visible") == "visible"
            if is_visible and relation is not None and relation.kind == "worksheet":
                found.append(Sheet(each.get("name", ""), relation.target))
        return found


def _number(value: Any) -> int:
    return int(value) if value is not None and value.isdecimal() and len(value) < 10 else 0
