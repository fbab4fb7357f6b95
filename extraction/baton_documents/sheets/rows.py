"""The rows of a sheet, read as a stream, so that memory depends on stored cells, not on the extent of the sheet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from baton_documents import refusals
from baton_documents.office.xml import stream_elements
from baton_documents.sheets.cell import SheetCell, parse_address, parse_integer
from baton_documents.sheets.number_formats import NumberFormat
from baton_documents.sheets.shared_formulas import MAX_COLUMNS, MAX_ROWS, SheetFormulas
from baton_documents.sheets.shared_texts import SharedTexts, unescape

MAX_CELLS = 20_000_000
"""The most cells of a sheet up to its last row and column, including empty cells."""
MAX_TEXT_ROOM = 128 * 1024 * 1024
"""The most bytes of memory for the texts of cells, and for the lines made from them, in one part."""
_MAX_LISTED = 5
"""The most cells without values whose addresses are listed."""
_ON = ("1", "true")
_NOTHING = ("0", "0.0")
_BOOLEANS = {"1": "TRUE", "true": "TRUE", "0": "FALSE", "false": "FALSE"}
_GENERAL = NumberFormat("General")


class TextRoom:
    """The memory that texts of cells take."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, text: str) -> None:
        """Note the memory of a text. Raises ``DocumentRefused`` above ``MAX_TEXT_ROOM``."""
        self.used += len(text) if text.isascii() else sys.getsizeof(text)
        if self.used > MAX_TEXT_ROOM:
            raise refusals.too_long()


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the cells that have text, by their indexes among the visible columns."""

    number: int
    cells: dict[int, str]


class SheetRows:
    """The visible rows of one sheet. ``is_stale`` has the meaning of ``Workbook.is_stale``."""

    def __init__(
        self, shared: SharedTexts, formats: list[NumberFormat], room: TextRoom, *, is_stale: bool = False
    ) -> None:
        self._shared = shared
        self._formats = formats
        self._room = room
        self._is_stale = is_stale
        self._formulas = SheetFormulas()
        self._is_column_hidden = bytearray(MAX_COLUMNS)
        self._places: list[int] = []
        """The index of each column among the visible ones; -1 for hidden ones."""
        self._row_count = 0
        self._row = self._last_row = self._last_column = 0
        self.missing: list[str] = []
        """The addresses of the first visible cells whose values are missing."""
        self.missing_count = 0

    def read(self, content: IO[bytes]) -> Iterator[Row]:
        """Yield the rows that are neither hidden nor empty. Raises ``DocumentRefused`` and ``XMLSyntaxError``."""
        for element in stream_elements(content, "col", "row", "sheetData"):
            if element.tag.endswith("}row"):
                cells = self._read_cells(element)
                if cells:
                    yield Row(self._row, cells)
            elif element.tag.endswith("}col"):
                self._note_hidden_columns(element)
            else:
                return
        raise refusals.damaged()  # the part is not a sheet

    def _note_hidden_columns(self, column: Any) -> None:
        """Note that the columns of a ``col`` element are hidden, if they are."""
        if column.get("hidden") not in _ON and column.get("width") not in _NOTHING:
            return
        first, last = parse_integer(column.get("min")), min(parse_integer(column.get("max")), MAX_COLUMNS)
        if 0 < first <= last:
            self._is_column_hidden[first - 1 : last] = b"\1" * (last - first + 1)

    def _place_columns(self) -> None:
        """Number the visible columns."""
        visible = -1
        self._places = [-1 if is_hidden else (visible := visible + 1) for is_hidden in self._is_column_hidden]

    def _read_cells(self, row: Any) -> dict[int, str]:
        """Return the texts of a row's visible cells by their indexes; empty for a hidden row."""
        if not self._places:  # the file describes columns before the first row
            self._place_columns()
        self._row_count += 1
        if self._row_count > MAX_ROWS:
            raise refusals.too_long()
        self._row = parse_integer((row.get("r") or "").strip()) or self._row + 1
        is_hidden = row.get("hidden") in _ON or row.get("ht") in _NOTHING
        cells: dict[int, str] = {}
        column = 0
        for element in row.iterchildren("{*}c"):
            # A cell without an address is to the right of the previous one.
            line, addressed_column = parse_address((element.get("r") or "").strip())
            line, column = line or self._row, addressed_column or column + 1
            if column > MAX_COLUMNS or line > MAX_ROWS:
                raise refusals.damaged()
            cell = SheetCell(line, column, element.get("t") or "n", parse_integer(element.get("s")))
            cell.read(element)
            if cell.formula:
                self._formulas.note(cell)
            index = self._places[column - 1]
            if not is_hidden and index >= 0 and (text := self._to_text(cell)):
                self._count_cell(cell, text)
                cells[index] = text
                if len(cells) == 1:  # the address of the first visible cell decides the row's number
                    self._row = line
        return cells

    def _count_cell(self, cell: SheetCell, text: str) -> None:
        """Note the memory and the place of a cell. Raises ``DocumentRefused`` if the sheet is too large."""
        self._room.take(text)
        if cell.row > self._last_row or cell.column > self._last_column:
            self._last_row, self._last_column = max(self._last_row, cell.row), max(self._last_column, cell.column)
            if self._last_row * self._last_column > MAX_CELLS:
                raise refusals.too_wide(self._last_column, self._last_row)

    def _to_text(self, cell: SheetCell) -> str:
        """Return the text that a cell shows."""
        if cell.formula is not None and cell.is_without_result(is_stale=self._is_stale):
            return self._read_formula(cell)
        value = (cell.value or "").strip()
        match cell.kind:
            case "s":
                return self._find_shared_text(cell, value) if value else ""
            case "inlineStr":
                return self._find_format(cell).format_text(cell.text)
            case "str":
                return self._find_format(cell).format_text(unescape(cell.value or ""))
            case "b":
                return _BOOLEANS.get(value, value)
            case "e":
                return value
            case "d":
                return value.removesuffix("Z").replace("T00:00:00", "").replace("T", " ")
        return self._find_format(cell).format(value) if value else self._find_array_formula(cell)

    def _read_formula(self, cell: SheetCell) -> str:
        """Return the formula of a cell; empty if the file lacks it, which is noted."""
        formula = self._formulas.find_formula(cell)
        if formula:
            return f"={formula}"
        self._note_missing(cell)
        return ""

    def _find_array_formula(self, cell: SheetCell) -> str:
        """Return the formula of an empty cell's range if the range has no stored results; otherwise empty."""
        formula = self._formulas.find_array_formula(cell)
        return f"={formula}" if formula else ""

    def _find_shared_text(self, cell: SheetCell, value: str) -> str:
        """Return the shared text of a cell, given its number; empty if the file lacks it, which is noted."""
        number = parse_integer(value)
        if not value.isdecimal() or number >= len(self._shared):
            self._note_missing(cell)
            return ""
        return self._find_format(cell).format_text(self._shared.get_text(number))

    def _find_format(self, cell: SheetCell) -> NumberFormat:
        return self._formats[cell.style] if cell.style < len(self._formats) else _GENERAL

    def _note_missing(self, cell: SheetCell) -> None:
        self.missing_count += 1
        if len(self.missing) < _MAX_LISTED:
            self.missing.append(cell.address)
