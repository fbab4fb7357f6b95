"""Formulas that cells of a sheet share: the file stores them for one cell, and they are adapted for the other cells."""

from __future__ import annotations

import re
from dataclasses import dataclass

from baton_documents import refusals
from baton_documents.sheets.cell import SheetCell, parse_address, parse_column, write_column

MAX_COLUMNS = 16_384
MAX_ROWS = 1_048_576
"""The most columns and rows of a sheet (limits of Excel)."""
MAX_FORMULAS = 16 * 1024 * 1024
"""The most characters of a sheet's formulas that are kept or adapted, which takes time."""
MAX_ARRAYS = 100
"""The most ranges without results that are searched for each empty cell."""
_REFERENCE = re.compile(
    r"""("(?:[^"]|"")*"|'(?:[^']|'')*'(?=!)|\[[^\[\]]*\])"""  # texts, names of sheets, columns of tables
    r"""|(?<![\w.$\\])(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})(?![\w.(!])"""
    r"""|(?<![\w.$\\])(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})(?![\w.(!$])"""
    r"""|(?<![\w.$\\:])(\$?)(\d{1,7}):(\$?)(\d{1,7})(?![\w.(!$])"""
)


class SheetFormulas:
    """The formulas of a sheet that apply to more than one cell."""

    def __init__(self) -> None:
        self._shared: dict[str, tuple[MovableFormula, int, int]] = {}
        self._arrays: list[tuple[int, int, int, int, str]] = []
        self._size = 0

    def note(self, cell: SheetCell) -> None:
        """Note the formula of a cell, even a hidden one, if other cells use it.

        Raises ``DocumentRefused`` if the formulas exceed ``MAX_FORMULAS``.
        """
        if not cell.formula or cell.formula_kind == "normal":
            return
        self._count(len(cell.formula))
        if cell.formula_kind == "shared":
            self._shared.setdefault(cell.formula_key, (MovableFormula(cell.formula), cell.row, cell.column))
        elif ":" in cell.formula_key and cell.is_without_result(is_stale=False) and len(self._arrays) < MAX_ARRAYS:
            self._arrays.append((*_parse_area(cell.formula_key), cell.formula))

    def find_formula(self, cell: SheetCell) -> str:
        """Return the formula of a cell; empty if the file does not contain it.

        Raises ``DocumentRefused`` if the formulas exceed ``MAX_FORMULAS``.
        """
        if cell.formula or cell.formula_kind != "shared" or cell.formula_key not in self._shared:
            return cell.formula or ""
        formula, row, column = self._shared[cell.formula_key]
        self._count(formula.length)
        return formula.move(cell.row - row, cell.column - column)

    def _count(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_FORMULAS:
            raise refusals.too_long()

    def find_array_formula(self, cell: SheetCell) -> str:
        """Return the formula of the range without results that contains a cell; empty without such a range."""
        for top, left, bottom, right, formula in self._arrays:
            if top <= cell.row <= bottom and left <= cell.column <= right:
                return formula
        return ""


class MovableFormula:
    """A formula whose relative references are adapted to the place of each cell."""

    def __init__(self, formula: str) -> None:
        self.length = len(formula)
        self._pieces: list[str | int | _Row] = []
        """Fixed texts, relative columns as numbers, and relative rows."""
        end = 0
        for match in _REFERENCE.finditer(formula):
            self._pieces.append(formula[end : match.start()])
            end = match.end()
            self._add(match)
        self._pieces.append(formula[end:])

    def move(self, rows: int, columns: int) -> str:
        """Return the formula of a cell that is ``rows`` further down and ``columns`` further right."""
        texts = []
        for piece in self._pieces:
            # References beyond an edge of the sheet continue at the opposite edge.
            if isinstance(piece, str):
                texts.append(piece)
            elif isinstance(piece, int):
                texts.append(write_column((piece + columns - 1) % MAX_COLUMNS + 1))
            else:
                texts.append(str((piece.number + rows - 1) % MAX_ROWS + 1))
        return "".join(texts)

    def _add(self, match: re.Match[str]) -> None:
        verbatim, *groups = match.groups()
        if verbatim is not None:
            self._pieces.append(verbatim)
        elif groups[1] is not None:
            self._add_column(groups[0], groups[1])
            self._add_row(groups[2], groups[3])
        elif groups[5] is not None:
            self._add_column(groups[4], groups[5])
            self._pieces.append(":")
            self._add_column(groups[6], groups[7])
        else:
            self._add_row(groups[8], groups[9])
            self._pieces.append(":")
            self._add_row(groups[10], groups[11])

    def _add_column(self, mark: str, letters: str) -> None:
        self._pieces.append(f"{mark}{letters}" if mark else parse_column(letters))

    def _add_row(self, mark: str, digits: str) -> None:
        self._pieces.append(f"{mark}{digits}" if mark else _Row(int(digits)))


@dataclass(frozen=True, slots=True)
class _Row:
    """A relative row of a formula."""

    number: int


def _parse_area(reference: str) -> tuple[int, int, int, int]:
    """Return the first row, first column, last row and last column of a range such as ``A1:B2``."""
    first, _, last = reference.replace("$", "").partition(":")
    return *parse_address(first), *parse_address(last)
