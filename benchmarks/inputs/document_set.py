"""Documents in all formats for the benchmark of ingestion, which are the same in every run."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass

import docx
import pptx
from reportlab.lib import colors, pagesizes
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table
from xlsxwriter import Workbook

from baton_documents.formats import MEDIA_TYPES, DocumentFormat

LINES = 46
"""The lines of a page without a table."""
# fmt: off
_WORDS = (
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "with", "as", "on", "be", "at", "by",
    "this", "from", "or", "an", "are", "was", "which", "not", "have", "valve", "pressure", "motor", "contract",
    "customer", "delivery", "invoice", "warranty", "temperature", "sensor", "cable", "repair", "service",
    "region", "payment", "control", "unit", "safety", "filter", "engine", "table", "record", "archive",
    "member", "project", "report", "budget", "quality", "supply", "water", "energy", "market", "research",
)
# fmt: on
_CONTENT_TYPES = {form: content_type for content_type, form in reversed(list(MEDIA_TYPES.items()))}


@dataclass(frozen=True, slots=True)
class GeneratedDocument:
    """A generated document, as a user would upload it."""

    name: str
    form: DocumentFormat
    body: bytes

    @property
    def content_type(self) -> str:
        """The registered media type of the format."""
        return _CONTENT_TYPES[self.form]


def make_document_set() -> Iterator[GeneratedDocument]:
    """Yield one document of each format, then PDF files of 100 pages (each tenth with a table) and of 500."""
    yield GeneratedDocument("notes.txt", DocumentFormat.TEXT, _make_paragraphs(400).encode())
    yield GeneratedDocument("guide.md", DocumentFormat.MARKDOWN, _make_markdown(60).encode())
    yield GeneratedDocument("page.html", DocumentFormat.HTML, _make_html(60).encode())
    yield GeneratedDocument(
        "parts.csv", DocumentFormat.CSV, "\n".join(",".join(row) for row in _make_rows(2_000)).encode()
    )
    yield GeneratedDocument("report.docx", DocumentFormat.DOCX, _make_word(400))
    yield GeneratedDocument("slides.pptx", DocumentFormat.PPTX, _make_slides(60))
    yield GeneratedDocument("prices.xlsx", DocumentFormat.XLSX, _make_sheets(4, 1_000))
    yield GeneratedDocument("100-pages.pdf", DocumentFormat.PDF, make_pdf(100, tables=True))
    yield GeneratedDocument("500-pages.pdf", DocumentFormat.PDF, make_pdf(500))


def make_pdf(pages: int, *, tables: bool = False) -> bytes:
    """Return a PDF file with a heading and about 3,000 characters on each page.

    With ``tables``, each tenth page has a table and half of the characters.
    """
    chance, out = random.Random(pages), io.BytesIO()  # noqa: S311 - words of a text
    canvas = Canvas(out, pagesize=pagesizes.A4, invariant=1)
    for number in range(1, pages + 1):
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(60, 790, f"Section {number}")
        canvas.setFont("Helvetica", 10)
        has_table = tables and number % 10 == 0
        for line in range(LINES // 2 if has_table else LINES):
            if line % 8 != 7:
                canvas.drawString(60, 765 - 15 * line, _make_sentence(chance, 11)[:85])
        if has_table:
            drawn = Table(_make_rows(15), style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
            drawn.wrapOn(canvas, 400, 400)
            drawn.drawOn(canvas, 60, 100)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def _make_sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(words)).capitalize() + "."


def _make_paragraph(chance: random.Random) -> str:
    return " ".join(_make_sentence(chance, chance.randint(8, 20)) for _ in range(5))


def _make_paragraphs(count: int) -> str:
    chance = random.Random(count)  # noqa: S311
    return "\n\n".join(_make_paragraph(chance) for _ in range(count))


def _make_markdown(sections: int) -> str:
    return "\n\n".join(f"## Section {number}\n\n{_make_paragraphs(5)}" for number in range(sections))


def _make_html(sections: int) -> str:
    texts = _make_paragraphs(5).split("\n\n")
    body = "".join(
        f"<h2>Section {number}</h2>" + "".join(f"<p>{text}</p>" for text in texts) for number in range(sections)
    )
    return f"<!doctype html><title>Page</title><main>{body}</main>"


def _make_rows(count: int) -> list[list[str]]:
    chance = random.Random(count)  # noqa: S311
    rows = [[str(number), _make_sentence(chance, 3), f"{chance.random() * 100:.2f}"] for number in range(1, count)]
    return [["Number", "Part", "Price"], *rows]


def _make_word(paragraphs: int) -> bytes:
    chance, out, document = random.Random(paragraphs), io.BytesIO(), docx.Document()  # noqa: S311
    for number in range(paragraphs):
        if number % 10 == 0:
            document.add_heading(f"Section {number}", level=2)
        document.add_paragraph(_make_paragraph(chance))
    document.save(out)
    return out.getvalue()


def _make_slides(slides: int) -> bytes:
    chance, out, presentation = random.Random(slides), io.BytesIO(), pptx.Presentation()  # noqa: S311
    for number in range(slides):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text_frame.text = "\n".join(_make_sentence(chance, 10) for _ in range(6))
    presentation.save(out)
    return out.getvalue()


def _make_sheets(sheets: int, rows: int) -> bytes:
    out = io.BytesIO()
    with Workbook(out) as workbook:
        for number in range(sheets):
            sheet = workbook.add_worksheet(f"Sheet {number}")
            for index, row in enumerate(_make_rows(rows)):
                sheet.write_row(index, 0, row)
    return out.getvalue()
