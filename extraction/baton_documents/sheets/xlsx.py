"""Text of workbooks: every visible sheet is a page with one table, or several tables separated by empty rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from baton_documents import refusals
from baton_documents.document import CELL_SEPARATOR
from baton_documents.errors import DocumentRefused
from baton_documents.results import BlockKind, ExtractedText, PageError, TextBlock
from baton_documents.sheets.rows import Row, SheetRows, TextRoom
from baton_documents.sheets.workbook import PROBLEMS, Sheet, Workbook
from baton_documents.text.plain_text import format_row


def count_sheets(body: bytes) -> int:
    """Return the number of visible sheets. Raises ``DocumentRefused``."""
    return len(Workbook(body).sheets)


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the tables of sheets, below their names: shown values, and formulas whose results are not stored.

    The texts of shapes and the titles of charts follow the tables. Hidden rows and columns are left out.
    """
    workbook = Workbook(body)
    blocks: list[TextBlock] = []
    errors: list[PageError] = []
    room = TextRoom()
    for number, sheet in enumerate(workbook.sheets[first - 1 : last], first):
        try:
            rows = SheetRows(workbook.shared_texts, workbook.formats, room, is_stale=workbook.is_stale)
            with workbook.open(sheet) as content:
                text_blocks = [
                    TextBlock(BlockKind.TABLE, table, number) for table in _divide_into_tables(rows.read(content), room)
                ]
            text_blocks += _read_drawings(workbook, sheet, number, errors)
        except PROBLEMS:
            errors.append(PageError(number, "The sheet is damaged."))
            continue
        except DocumentRefused as problem:
            if problem.reason != refusals.damaged().reason:
                raise
            errors.append(PageError(number, "The sheet is damaged."))
            continue
        if text_blocks:
            blocks += [TextBlock(BlockKind.HEADING, sheet.name, number, 1), *text_blocks]
        if rows.missing:
            errors.append(PageError(number, _describe_missing(rows)))
    return ExtractedText(tuple(blocks), None, len(workbook.sheets), tuple(errors))


def _read_drawings(workbook: Workbook, sheet: Sheet, number: int, errors: list[PageError]) -> list[TextBlock]:
    """Return the texts of shapes and the titles of charts on a sheet.

    A drawing that cannot be read adds an error to ``errors``, and the texts before it are returned.
    """
    blocks: list[TextBlock] = []
    try:
        for block in workbook.read_drawings(sheet):
            blocks.append(replace(block, page=number))  # noqa: PERF401 - what was read before a failure is kept
    except (*PROBLEMS, DocumentRefused):
        errors.append(PageError(number, "A drawing on the sheet cannot be read."))
    return blocks


def _describe_missing(rows: SheetRows) -> str:
    cells = ", ".join(rows.missing) + (" and others" if rows.missing_count > len(rows.missing) else "")
    return f"The file has no values for the cells {cells}. Calculate and save the workbook in Excel again."


def _divide_into_tables(rows: Iterator[Row], room: TextRoom) -> Iterator[str]:
    """Yield the tables, which empty rows separate, each from its first column that is not empty."""
    lines: list[str] = []
    margin = before = 0
    for row in rows:
        cells = [row.cells.get(index, "") for index in range(max(row.cells) + 1)]
        line = format_row(cells)
        if not line:
            continue
        if lines and row.number > before + 1:
            yield _join_lines(lines, margin)
            lines = []
        room.take(line)
        empty = next(index for index, cell in enumerate(cells) if cell.strip())
        margin = min(margin, empty) if lines else empty
        lines.append(line)
        before = row.number
    if lines:
        yield _join_lines(lines, margin)


def _join_lines(lines: list[str], margin: int) -> str:
    """Return the text of a table without its first ``margin`` columns, which are empty."""
    return "\n".join(line[margin * len(CELL_SEPARATOR) :] for line in lines)
