"""Formulas that cells of a sheet share: stored for one cell, moved for the others."""

from __future__ import annotations

import re

from baton.adapters.extraction import refusals
from baton.adapters.extraction.sheet_cell import SheetCell, column_letters, column_number, place_of

MAX_COLUMNS = 16_384
MAX_ROWS = 1_048_576
MAX_FORMULAS = 16 * 1024 * 1024
"""Characters of all shared formulas of a sheet."""
MAX_ARRAYS = 100
"""Ranges without results that are looked at for each empty cell."""
_REFERENCE = re.compile(
    r"""("(?:[^"]|"")*"|'(?:[^']|'')*'(?=!)|\[[^\[\]]*\])"""  # texts, names of sheets, columns of tables
    r"""|(?<![\w.$\\])(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})(?![\w.(!])"""
    r"""|(?<![\w.$\\])(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})(?![\w.(!$])"""
    r"""|(?<![\w.$\\:])(\$?)(\d{1,7}):(\$?)(\d{1,7})(?![\w.(!$])"""
)


class SheetFormulas:
    """The formulas of a sheet that stand for more than one cell."""

    def __init__(self) -> None:
        self._shared: dict[str, tuple[str, int, int]] = {}
        self._arrays: list[tuple[int, int, int, int, str]] = []
        self._size = 0

    def note(self, cell: SheetCell) -> None:
        """Note the formula of a cell, also of a hidden one, if others use it. Raises ``DocumentUnreadable``."""
        if not cell.formula or cell.formula_kind == "normal":
            return
        self._size += len(cell.formula)
        if self._size > MAX_FORMULAS:
            raise refusals.too_long()
        if cell.formula_kind == "shared":
            self._shared.setdefault(cell.formula_key, (cell.formula, cell.row, cell.column))
        elif ":" in cell.formula_key and cell.is_without_result(is_stale=False) and len(self._arrays) < MAX_ARRAYS:
            self._arrays.append((*_area(cell.formula_key), cell.formula))

    def size(self, cell: SheetCell) -> int:
        """Return the characters of a cell's formula, before one is made."""
        return len(cell.formula or self._shared.get(cell.formula_key, ("",))[0])

    def text(self, cell: SheetCell) -> str:
        """Return the formula of a cell; empty if it is not in the file."""
        if cell.formula or cell.formula_kind != "shared" or cell.formula_key not in self._shared:
            return cell.formula or ""
        formula, row, column = self._shared[cell.formula_key]
        return moved_formula(formula, cell.row - row, cell.column - column)

    def covering(self, cell: SheetCell) -> str:
        """Return the formula of the range without results that a cell is in; empty if there is none."""
        for top, left, bottom, right, formula in self._arrays:
            if top <= cell.row <= bottom and left <= cell.column <= right:
                return formula
        return ""


def moved_formula(formula: str, rows: int, columns: int) -> str:
    """Return a formula as it is ``rows`` further down and ``columns`` further right: its relative references move."""

    def move(found: re.Match[str]) -> str:
        verbatim, *cell = found.groups()[:5]
        if verbatim is not None:
            return verbatim
        if cell[1] is not None:
            return _column(cell[0], cell[1], columns) + _row(cell[2], cell[3], rows)
        first, left, second, right, above, top, below, bottom = found.groups()[5:]
        if left is not None:
            return f"{_column(first, left, columns)}:{_column(second, right, columns)}"
        return f"{_row(above, top, rows)}:{_row(below, bottom, rows)}"

    return _REFERENCE.sub(move, formula)


def _column(mark: str, letters: str, by: int) -> str:
    # References beyond an edge go on at the other one.
    return mark + (letters if mark else column_letters((column_number(letters) + by - 1) % MAX_COLUMNS + 1))


def _row(mark: str, digits: str, by: int) -> str:
    return mark + (digits if mark else str((int(digits) + by - 1) % MAX_ROWS + 1))


def _area(reference: str) -> tuple[int, int, int, int]:
    """Return the first row, first column, last row and last column of a range such as ``A1:B2``."""
    first, _, last = reference.replace("$", "").partition(":")
    return *place_of(first), *place_of(last)
