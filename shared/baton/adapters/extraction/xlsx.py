"""Workbooks: every visible sheet is a page with one table, or several where rows are empty."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from baton.adapters.extraction import refusals
from baton.adapters.extraction.tables import row_text
from baton.domain.document import PageError
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock


def pages(body: bytes) -> int:
    """Return the number of visible sheets."""
    return len(_sheets(_opened(body)))


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the tables of sheets, below their names. Values are those that were last calculated."""
    workbook = _opened(body)
    names = _sheets(workbook)
    blocks: list[TextBlock] = []
    errors: list[PageError] = []
    for number, name in enumerate(names[first - 1 : last], first):
        try:
            tables = list(_tables(workbook.get_sheet_by_name(name).iter_rows()))
        except CalamineError:
            errors.append(PageError(number, "The sheet is damaged."))
            continue
        if tables:
            blocks.append(TextBlock(BlockKind.HEADING, name, number, 1))
            blocks += [TextBlock(BlockKind.TABLE, table, number) for table in tables]
    return ExtractedText(tuple(blocks), None, len(names), tuple(errors))


def _opened(body: bytes) -> Any:
    try:
        return CalamineWorkbook.from_filelike(io.BytesIO(body))
    except PasswordError:
        raise refusals.encrypted() from None
    except CalamineError:
        raise refusals.damaged() from None


def _sheets(workbook: Any) -> list[str]:
    return [
        sheet.name
        for sheet in workbook.sheets_metadata
        if sheet.typ == SheetTypeEnum.WorkSheet and sheet.visible == SheetVisibleEnum.Visible
    ]


def _tables(rows: Iterator[list[Any]]) -> Iterator[str]:
    lines: list[str] = []
    for row in rows:
        line = row_text([_text(value) for value in row])
        if line:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _text(value: Any) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta() | float() | int() | str():
            return str(value)
    return ""
