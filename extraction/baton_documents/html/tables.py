"""Tables of web pages that hold data, with their cells in rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_documents.text.plain_text import MAX_REPEATED, format_table

MAX_COLUMNS = 1_000
"""The limit of browsers. Further cells are added at the end of their row, without spans."""
MAX_CELLS = 500_000
"""The most cells of one table, including those that spans add. Further spans are ignored."""
_GROUPS = {"thead": 0, "tfoot": 2}
"""The places of groups of rows in the order in which browsers show them. Other rows have place 1."""
_MAX_ROWS = 65_534
"""The most rows of one cell in browsers (HTML standard, "rowspan")."""
_HEADINGS = frozenset({"h1", "h2", "h3"})
_FLOWING = frozenset({"ul", "ol", "pre"})
_DATA_TAGS = frozenset({"th", "caption", "thead"})


def find_data_tables(root: Any) -> set[int]:
    """Return the ``mem_id`` of tables that hold data, unlike tables for the layout of a page."""
    table_ids: set[int] = set()
    opened: list[tuple[int, set[str]]] = []
    for node, is_start in _walk(root):
        tag = node.tag
        if tag != "table":
            if opened and is_start:
                opened[-1][1].add(tag)
        elif is_start:
            if opened:
                opened[-1][1].add(tag)
            opened.append((node.mem_id, set()))
        else:
            table_id, tags = opened.pop()
            role = (node.attributes.get("role") or "").lower()
            if role not in ("presentation", "none") and _is_data(tags):
                table_ids.add(table_id)
            elif opened:
                opened[-1][1].update(tags & (_HEADINGS | _FLOWING))
    return table_ids


def _is_data(tags: set[str]) -> bool:
    """Return whether a table with elements of these tags holds data."""
    if "table" in tags or tags & _HEADINGS or not tags & {"td", "th"}:
        return False
    return not tags & _FLOWING or bool(tags & _DATA_TAGS)


def _walk(root: Any) -> Any:
    """Yield each node twice: at its beginning with True, and at its end with False."""
    node = root
    while node is not None:
        yield node, True
        if node.child is not None:
            node = node.child
            continue
        yield node, False
        while node.mem_id != root.mem_id and node.next is None:
            node = node.parent
            yield node, False
        if node.mem_id == root.mem_id:
            return
        node = node.next


@dataclass(slots=True)
class _Cell:
    """A cell, with the numbers of columns and rows that it covers."""

    text: str
    columns: int
    rows: int


@dataclass(slots=True)
class TableGrid:
    """The rows of one table while it is read."""

    caption: str = ""
    _rows: list[tuple[tuple[int, int], list[_Cell]]] = field(default_factory=list)
    """Rows, each after its group."""
    _group: tuple[int, int] = (1, 0)
    """The current group: its place in the order of ``_GROUPS``, and the number of rows before it."""

    def begin_group(self, tag: str) -> None:
        """Note that the rows of a ``thead``, ``tbody`` or ``tfoot`` follow."""
        self._group = _GROUPS.get(tag, 1), len(self._rows)

    def begin_row(self) -> None:
        self._rows.append((self._group, []))

    def add(self, text: str, attributes: Mapping[str, str | None]) -> None:
        """Add a cell to the last row."""
        if not self._rows:
            self.begin_row()
        self._rows[-1][1].append(_Cell(text, _parse_span(attributes, "colspan"), _parse_span(attributes, "rowspan")))

    def text(self) -> str:
        """Return the rows as text. A cell over several rows is repeated in each row, unless it is long.

        A cell over several columns is not repeated: empty cells follow it.
        """
        rows = sorted(self._rows, key=lambda row: row[0])
        below: dict[int, tuple[int, str]] = {}  # column -> rows that a cell above still covers, and its text
        lines: list[list[str]] = []
        cells = 0
        for index, (group, row) in enumerate(rows):
            texts: list[str] = []
            if (index and rows[index - 1][0] != group) or cells >= MAX_CELLS:
                below.clear()
            width = max(below, default=-1) + 1
            ahead = iter(row)
            cell = next(ahead, None)
            while cell is not None or len(texts) < width:
                column = len(texts)
                if column in below:
                    remaining, text = below.pop(column)
                    texts.append(text)
                    if remaining > 1:
                        below[column] = remaining - 1, text
                elif cell is None:
                    texts.append("")
                else:
                    self._place(cell, texts, below, may_span=cells < MAX_CELLS)
                    cell = next(ahead, None)
            cells += len(texts)
            lines.append(texts)
        return format_table(lines)

    @staticmethod
    def _place(cell: _Cell, texts: list[str], below: dict[int, tuple[int, str]], *, may_span: bool) -> None:
        """Append a cell to the ``texts`` of a row, and note the rows that it covers in ``below``."""
        start = len(texts)
        columns = max(1, min(cell.columns, MAX_COLUMNS - start)) if may_span else 1
        texts += [cell.text, *[""] * (columns - 1)]
        if cell.rows > 1 and may_span and start < MAX_COLUMNS:
            repeated = cell.text if len(cell.text) <= MAX_REPEATED else ""
            for offset in range(columns):
                below[start + offset] = cell.rows - 1, repeated if not offset else ""


def _parse_span(attributes: Mapping[str, str | None], name: str) -> int:
    """Return the number of columns or rows that a cell covers; 1 if the attribute is not a number."""
    value = (attributes.get(name) or "").strip()
    if not value.isascii() or not value.isdigit() or len(value) > 6:
        return 1
    if value.strip("0") == "":  # 0 means: to the end of the group of rows
        return _MAX_ROWS if name == "rowspan" else 1
    return min(int(value), _MAX_ROWS)
