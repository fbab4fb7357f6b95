"""Tables as text: rows as lines, cells parted by " | "."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BETWEEN = " | "
MAX_REPEATED = 200
"""Characters of a cell that is repeated in each of its rows. A longer one is in the first."""


def table_text(rows: Iterable[Sequence[str | None]]) -> str:
    """Return the text of a table, without empty rows."""
    return "\n".join(filter(None, map(row_text, rows)))


def row_text(cells: Sequence[str | None]) -> str:
    """Return the line of a row, empty if all its cells are. Line breaks in cells become spaces."""
    texts = [" ".join((cell or "").split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return BETWEEN.join(texts)
