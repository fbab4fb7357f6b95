"""Tables of Word documents."""

from __future__ import annotations

import pytest

from tests.office_files import archive, word_parts
from tests.word_markup import STYLES, box, paragraph, run, texts


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(text))}</w:tc>"


def table(*rows: str, properties: str = "") -> str:
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(rows)}</w:tbl>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


CONTROL = "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>"
TABLES = {
    "controls around rows and cells": (
        table(CONTROL.format(row(cell("a"), CONTROL.format(cell("b")))), row(cell("c"), cell("d"))),
        ["a | b\nc | d"],
    ),
    "a control around the table": (CONTROL.format(table(row(cell("a"), cell("b")))), ["a | b"]),
    "a cell over two columns": (
        table(row(cell("a", '<w:gridSpan w:val="2"/>'), cell("b")), row(cell("c"), cell("d"), cell("e"))),
        ["a |  | b\nc | d | e"],
    ),
    "a cell over two rows": (
        table(
            row(cell("a", '<w:vMerge w:val="restart"/>'), cell("b")), row(cell("not shown", "<w:vMerge/>"), cell("c"))
        ),
        ["a | b\na | c"],
    ),
    "a row that begins later": (table(row(cell("a"), properties='<w:gridBefore w:val="1"/>')), [" | a"]),
    "a span that is a lie": (table(row(cell("a", '<w:gridSpan w:val="999999999"/>'))), ["a"]),
    "a table in a table": (
        table(row(cell("a"), f"<w:tc>{paragraph(run('b'))}{table(row(cell('c'), cell('d')), row(cell('e')))}</w:tc>")),
        ["a | b c, d; e"],
    ),
    "deleted and hidden rows": (
        table(row(cell("a")), row(cell("b"), properties="<w:del/>"), row(cell("c"), properties="<w:hidden/>")),
        ["a"],
    ),
    "an inserted row": (table(row(cell("a"), properties="<w:ins/>")), ["a"]),
    "a hidden table": (
        table(row(cell("a")), properties='<w:tblStyle w:val="Veil"/>') + paragraph(run("b")),
        ["b"],
    ),
    "several paragraphs in a cell": (table(row(f"<w:tc>{paragraph(run('a'))}{paragraph(run('b'))}</w:tc>")), ["a b"]),
    "a box in a cell": (
        table(row(f"<w:tc>{paragraph(run('a'), box(paragraph(run('b'))))}</w:tc>")),
        ["a", "b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), TABLES.values(), ids=TABLES)
def test_tables_are_read_as_they_are_shown(body: str, expected: list[str]) -> None:
    assert texts(archive(word_parts(body, styles=STYLES))) == expected
