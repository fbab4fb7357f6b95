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
"""The number of characters at the beginning of a table that are searched for its header."""


def header_rows(table: str) -> tuple[str, ...]:
    """Return the rows that name the columns of a table; empty if the first row consists of numbers.

    The first row belongs to the header. The next row does too if the row above it is a title, with one cell above
    several, or names groups of columns: it has fewer cells than the next row, which has no number though the row after
    that has one.
    """
    lines = [match[0].rstrip() for match in _LINE.finditer(table[:_READ]) if match[0].strip()][: MAX_ROWS + 1]
    if not lines or _is_of_numbers(_cells(lines[0])):
        return ()
    rows = [_cells(line) for line in lines]
    count = 1
    while count < min(MAX_ROWS, len(rows)) and not _RULE.fullmatch(lines[count]) and _continues_header(rows, count):
        count += 1
    return tuple(lines[:count])


def header_text(rows: Sequence[str], column: int = 0) -> str | None:
    """Return a header of at most ``MAX_HEADER`` characters without line ends; None if there are no rows.

    Each row has an equal share of them. A longer row keeps the cells from ``column`` on that fit, for a text that
    begins in that column.
    """
    most = MAX_HEADER // max(1, len(rows))
    return "\n".join(_fit(row, most, column) for row in rows) or None


def continues_table(rows: Sequence[str], table: str) -> bool:
    """Return whether a table continues the previous one, on the next page or after an empty row.

    ``rows`` is the header of the previous table. The table continues it if its first row has a number in a column
    whose name is not a number. A table that repeats the header does not: it has one itself.
    """
    first = next((match[0] for match in _LINE.finditer(table[:_READ])), "")
    if not rows or not first or first.strip() in {row.strip() for row in rows}:
        return False
    names, cells = _cells(rows[-1]), _cells(first)
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


def _cells(row: str) -> list[str]:
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


def _fit(row: str, most: int, column: int) -> str:
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
