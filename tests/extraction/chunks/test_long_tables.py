"""Each chunk of a long table, in whatever format, has the names of its columns in it or in front."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

import pytest
from reportlab.lib import colors, pagesizes
from reportlab.platypus import LongTable, SimpleDocTemplate

from baton_documents import read
from baton_documents.chunks.division import divide_into_chunks
from tests import documents
from tests.documents import Rows

NAMES = ("part", "supplier", "lead time in days", "minimum order", "warehouse")
TABLE: Rows = (NAMES, *((f"PN-{n:03}", f"Supplier {n % 9}", f"{n % 13}", f"{n % 17}", f"W{n % 3}") for n in range(120)))


def _pdf(*, repeated: bool) -> bytes:
    out = io.BytesIO()
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    table = LongTable([list(row) for row in TABLE], style=grid, repeatRows=int(repeated))

    def draw_header_and_footer(canvas: object, value: SimpleDocTemplate) -> None:
        canvas.drawString(72, 810, "Stock list")  # type: ignore[attr-defined]
        canvas.drawString(500, 20, f"Page {value.page}")  # type: ignore[attr-defined]

    SimpleDocTemplate(out, pagesize=pagesizes.A4, invariant=1).build(
        [table], onFirstPage=draw_header_and_footer, onLaterPages=draw_header_and_footer
    )
    return out.getvalue()


def _lines(begin: str, between: str, end: str) -> list[str]:
    return [begin + between.join(row) + end for row in TABLE]


def _csv() -> bytes:
    return "\n".join(_lines("", ",", "")).encode()


def _markdown() -> bytes:
    head, *rows = _lines("| ", " | ", " |")
    return "\n".join(["# Stock", "", head, "|---" * len(NAMES) + "|", *rows]).encode()


def _html() -> bytes:
    return ("<main><h1>Stock</h1><table>" + "".join(_lines("<tr><td>", "<td>", "")) + "</table></main>").encode()


@pytest.mark.parametrize(
    ("name", "content_type", "make"),
    [
        ("a.csv", "text/csv", _csv),
        ("a.md", "text/markdown", _markdown),
        ("a.html", "text/html", _html),
        ("a.docx", documents.DOCX, partial(documents.word, ("Heading 1", "Stock"), table=TABLE)),
        ("a.pptx", documents.PPTX, partial(documents.presentation, ("Stock", ["Parts"]), table=TABLE)),
        ("a.xlsx", documents.XLSX, partial(documents.workbook, Stock=TABLE)),
        ("a.pdf", documents.PDF, partial(_pdf, repeated=True)),
        ("a.pdf", documents.PDF, partial(_pdf, repeated=False)),
    ],
    ids=["csv", "markdown", "html", "word", "powerpoint", "excel", "pdf", "pdf that repeats no header"],
)
def test_no_row_is_without_the_names_of_its_columns(name: str, content_type: str, make: Callable[[], bytes]) -> None:
    body = make()
    chunks = divide_into_chunks(read(body, name, content_type).blocks)
    with_rows = [chunk for chunk in chunks if "PN-" in chunk.text]
    assert len(with_rows) > 2
    for chunk in with_rows:
        visible = f"{chunk.table_header}\n{chunk.text}" if chunk.table_header else chunk.text
        header, row = visible.index("lead time in days"), visible.index("PN-")
        assert header < row
        assert chunk.table_header is None or chunk.table_header.strip("| ").split(" | ") == list(NAMES)
