"""Headers of tables: the rows that name the columns, repeated with a chunk that begins with later rows.

Rows are lines, with cells separated by " | ". In Markdown, a row also begins and ends with a bar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from baton_documents.document import CELL_SEPARATOR

MAX_HEADER = 800
"""The most characters of a header that are repeated."""
MAX_ROWS = 3
"""The most rows of a header: a title, names of groups of columns, and names of columns."""
CUT = "..."
"""The sign in place of columns that are left out."""
_LINE = re.compile(r"[^\n]+")
_RULE = re.compile(r"(?=[^-]*+-)[\s|:-]++")
"""The line below the header of a table in Markdown."""
_READ = 20_000
"""The number of characters at the beginning of a table in which its header is searched for."""


def find_header_rows(table: str) -> tuple[str, ...]:
    """Return the rows that name the columns of a table, at most ``MAX_ROWS``; empty if the first row has only numbers.

    The first row belongs to the header. A further row without numbers does too if the row above it has fewer cells, and
    either has only one cell (a title) or names groups of columns: then the row below the further row has a number.
    """
    lines = [match[0].rstrip() for match in _LINE.finditer(table[:_READ]) if match[0].strip()][: MAX_ROWS + 1]
    if not lines or _is_of_numbers(_split_cells(lines[0])):
        return ()
    rows = [_split_cells(line) for line in lines]
    count = 1
    while count < min(MAX_ROWS, len(rows)) and not _RULE.fullmatch(lines[count]) and _continues_header(rows, count):
        count += 1
    return tuple(lines[:count])


def shorten_header(rows: Sequence[str], column: int = 0) -> str | None:
    """Return a header of at most ``MAX_HEADER`` characters besides line ends; None if there are no rows.

    Each row has an equal share of the characters. A longer row keeps the cells that fit from ``column`` (from 0) on,
    for a text that begins in that column.
    """
    most = MAX_HEADER // max(1, len(rows))
    return "\n".join(_shorten_row(row, most, column) for row in rows) or None


def continues_table(rows: Sequence[str], table: str) -> bool:
    """Return whether a table continues the previous one, on the next page or after an empty row.

    ``rows`` is the header of the previous table. The table continues that table if its first row has as many cells as
    the header's last row, and a number in a column whose name is not a number. A table that repeats a row of the header
    does not: it has its own header.
    """
    first = next((match[0] for match in _LINE.finditer(table[:_READ])), "")
    if not rows or not first or first.strip() in {row.strip() for row in rows}:
        return False
    names, cells = _split_cells(rows[-1]), _split_cells(first)
    return len(names) == len(cells) and any(
        _is_number(cell) and name and not _is_number(name) for name, cell in zip(names, cells, strict=True)
    )


def _continues_header(rows: Sequence[Sequence[str]], count: int) -> bool:
    """Return whether the row after the first ``count`` rows belongs to the header."""
    above, row = _drop_empty(rows[count - 1]), _drop_empty(rows[count])
    if len(above) >= len(row) or any(map(_is_number, row)):
        return False
    is_title = len(above) == 1
    return is_title or (count + 1 < len(rows) and any(map(_is_number, rows[count + 1])))


def _split_cells(row: str) -> list[str]:
    """Return the texts of a row's cells, without the bars at the ends of a row in Markdown."""
    inner = row.strip().removeprefix("|").removesuffix("|") if row.startswith("|") else row
    return [cell.strip() for cell in inner.split("|")]


def _drop_empty(cells: Sequence[str]) -> list[str]:
    return [cell for cell in cells if cell]


def _is_of_numbers(cells: Sequence[str]) -> bool:
    """Return whether all cells are numbers. If years name the columns, the first cell is empty or a word."""
    return bool(cells[0]) and all(map(_is_number, _drop_empty(cells)))


def _is_number(cell: str) -> bool:
    """Return whether a cell has digits and no letters, as numbers, dates and amounts do."""
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))


def _shorten_row(row: str, most: int, column: int) -> str:
    """Return a row of at most ``most`` characters, with ``CUT`` in place of the cells that are left out."""
    if len(row) <= most:
        return row
    cells = row.split(CELL_SEPARATOR)
    fitting = [CUT] if 0 < column < len(cells) else []
    size = sum(map(len, fitting))
    for cell in cells[column if fitting else 0 :]:
        size += len(CELL_SEPARATOR) + len(cell)
        if size > most - len(CELL_SEPARATOR) - len(CUT):
            break
        fitting.append(cell)
    if all(cell == CUT for cell in fitting):
        return row[: most - len(CUT)] + CUT
    return CELL_SEPARATOR.join([*fitting, CUT])
