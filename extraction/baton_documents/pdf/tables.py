"""Tables on PDF pages, found by the drawn lines around their cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pdfplumber.table import Table, cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

from baton_documents.pdf.objects import MAX_LINES
from baton_documents.pdf.places import Box
from baton_documents.pdf.words import Line, Word, join_lines
from baton_documents.text.plain_text import format_table

FEWEST_LINES = 4
"""The fewest drawn lines of a page with a table."""
MAX_CROSSINGS = 2_500
"""The most crossings of drawn lines. The time to find cells grows with their square."""
_TOLERANCE = 3.0
"""The tolerance in points, pdfplumber's default."""
_Rows = list[list[Box | None]]


def put_in(lines: list[Line], edges: Sequence[Box]) -> list[Line]:
    """Return the lines with each table as one line, at the place of its first words."""
    if not FEWEST_LINES <= len(edges) <= MAX_LINES:
        return lines
    for rows in sorted(_find_grids(edges), key=lambda rows: _find_bounding_box(rows).area):
        lines = _put_table_in(lines, rows)
    return lines


def _find_grids(edges: Sequence[Box]) -> Iterator[_Rows]:
    """Yield the tables as the boxes of their cells, None for missing cells; no table if there are too many lines."""
    merged = merge_edges([_to_edge(edge) for edge in edges], *[_TOLERANCE] * 4)
    horizontal = sum(edge["orientation"] == "h" for edge in merged)
    # The lines cross at most this often, but most pairs of a genuine table do not cross.
    if horizontal * (len(merged) - horizontal) > MAX_CROSSINGS * 10:
        return
    crossings = edges_to_intersections(merged, _TOLERANCE, _TOLERANCE)
    if len(crossings) > MAX_CROSSINGS:
        return
    for cells in cells_to_tables(intersections_to_cells(crossings)):
        # Only the cells of the table are used, which need no page.
        yield [[Box(*cell) if cell else None for cell in row.cells] for row in Table(None, cells).rows]  # type: ignore[arg-type]


def _to_edge(line: Box) -> dict[str, Any]:
    """Return a drawn line in the form of pdfplumber."""
    return {
        "orientation": "h" if line.width > line.height else "v",
        "object_type": "line",
        "x0": line.left,
        "x1": line.right,
        "top": line.top,
        "bottom": line.bottom,
        "width": line.width,
        "height": line.height,
    }


def _find_bounding_box(rows: _Rows) -> Box:
    first, *others = (cell for row in rows for cell in row if cell is not None)
    for cell in others:
        first = first.unite(cell)
    return first


def _put_table_in(lines: list[Line], rows: _Rows) -> list[Line]:
    """Return the lines with the words in the cells of a table as one line; unchanged if the cells are only a frame."""
    whole = _find_bounding_box(rows)
    cells = [cell for row in rows for cell in row if cell is not None]
    texts: dict[Box, list[str]] = {cell: [] for cell in cells}
    rest: list[Line] = []
    index: int | None = None
    for line in lines:
        outside: list[Word] = []
        inside: dict[Box, list[Word]] = {}
        for word in line.words:
            cell = next((cell for cell in cells if cell.holds(word.box)), None) if whole.holds(word.box) else None
            if cell is None:
                outside.append(word)
            else:
                inside.setdefault(cell, []).append(word)
        for cell, words in inside.items():
            texts[cell].append(" ".join(word.text for word in words))
        if inside and index is None:
            index = len(rest)
        if outside:
            rest.append(line if not inside else Line(outside, line.size, line.is_upright, line.is_table))
    table = [[join_lines(texts[cell]) if cell is not None else "" for cell in row] for row in rows]
    if index is None or sum(sum(map(bool, row)) > 1 for row in table) < 2:  # it is only a frame around text
        return lines
    rest.insert(index, Line([Word(format_table(table), whole, is_value=True)], 0.0, is_table=True))
    return rest
