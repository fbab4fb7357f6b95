"""Tables on pages of PDF files, by the lines that are drawn around their cells."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import pdfplumber
from pdfminer.pdfexceptions import PDFException
from pdfminer.psexceptions import PSException

from baton.adapters.extraction.tables import table_text

FEWEST_LINES = 6
"""Drawn lines of a page from which on it is looked at. It takes fifty times as long as reading its text."""
MOST_LINES = 1_500
"""With more, a page shows a picture. The time to find tables grows with their square."""
_PROBLEMS = (PDFException, PSException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What pdfminer raises for files that are not as they should be. PDFium has read the page: its text is kept."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table and its place, in points from the top of the page."""

    text: str
    top: float
    bottom: float
    words: frozenset[str]

    def holds(self, line: str, middle: float) -> bool:
        """Return whether a line of text at this height is one of the table's, and not beside it."""
        return self.top <= middle <= self.bottom and all(word in self.words for word in line.split())


@dataclass(slots=True)
class TableReader:
    """Reads the tables of one file, which is opened with the first page that has lines."""

    body: bytes
    _document: Any = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._document is not None:
            self._document.close()

    def on_page(self, number: int, lines: int) -> list[PageTable]:
        """Return the tables of a page on which so many lines are drawn."""
        if not FEWEST_LINES <= lines <= MOST_LINES:
            return []
        try:
            if self._document is None:
                self._document = pdfplumber.open(io.BytesIO(self.body))
            page = self._document.pages[number - 1]
            found = [self._table(each) for each in page.find_tables()]
            page.close()
        except _PROBLEMS:
            return []
        return [table for table in found if table is not None]

    def _table(self, table: Any) -> PageTable | None:
        rows = table.extract()
        filled = [row for row in rows if sum(1 for cell in row if cell and cell.strip()) > 1]
        if len(filled) < 2:  # a frame around text
            return None
        _, top, _, bottom = table.bbox
        words = frozenset(word for row in rows for cell in row for word in (cell or "").split())
        return PageTable(table_text(rows), top, bottom, words)
