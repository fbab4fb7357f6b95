"""Documents in all formats, written by common libraries."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx
import pptx
from pptx.util import Inches
from reportlab.lib import colors, pagesizes, pdfencrypt
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table
from xlsxwriter import Workbook

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

Rows = Sequence[Sequence[str]]


def pdf(
    pages: Sequence[tuple[str, Sequence[str]]],
    *,
    table: Rows | None = None,
    password: str | None = None,
    title: str | None = None,
) -> bytes:
    """Return a file whose pages have a heading, lines and the table. An empty line separates paragraphs."""
    out = io.BytesIO()
    encrypt = pdfencrypt.StandardEncryption(password, ownerPassword="owner") if password else None
    canvas = Canvas(out, pagesize=pagesizes.A4, encrypt=encrypt, invariant=1)
    if title:
        canvas.setTitle(title)
    for heading, lines in pages:
        y = 780
        if heading:
            canvas.setFont("Helvetica-Bold", 20)
            canvas.drawString(72, y, heading)
        canvas.setFont("Helvetica", 11)
        for line in lines:
            y -= 14
            if line:
                canvas.drawString(72, y, line)
        if table:
            drawn = Table([list(row) for row in table], style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
            _, height = drawn.wrapOn(canvas, 400, 400)
            drawn.drawOn(canvas, 72, y - 30 - height)
            canvas.drawString(72, y - 60 - height, "Below the table.")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def make_scanned_pdf() -> bytes:
    """Return a file whose pages are pictures."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for _ in range(2):
        canvas.drawImage(ImageReader(Image.new("L", (200, 300), 255)), 0, 0, 400, 600)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def word(*blocks: tuple[str, str], table: Rows | None = None, title: str = "") -> bytes:
    """Return a document with paragraphs of (style, text), and a table at its end."""
    document = docx.Document()
    document.core_properties.title = title
    for style, text in blocks:
        document.add_paragraph(text, style=style)
    if table:
        instance = document.add_table(rows=len(table), cols=len(table[0]))
        for row, cells in zip(instance.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def presentation(*slides: tuple[str, Sequence[str]], table: Rows | None = None, notes: str = "") -> bytes:
    """Return slides with titles and lists. The table and the notes belong to the last slide."""
    instance = pptx.Presentation()
    slide = None
    for title, lines in slides:
        slide = instance.slides.add_slide(instance.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = "\n".join(lines)
    if table and slide is not None:
        size = Inches(1), Inches(4), Inches(5), Inches(2)
        grid = slide.shapes.add_table(len(table), len(table[0]), *size).table
        for row, cells in zip(grid.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    if notes and slide is not None:
        slide.notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    instance.save(out)
    return out.getvalue()


def workbook(**sheets: Sequence[Sequence[object]]) -> bytes:
    """Return a workbook with sheets by their names."""
    out = io.BytesIO()
    with Workbook(out, {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return out.getvalue()


def change_archive(archive: bytes, **entries: bytes) -> bytes:
    """Return an archive with replaced or further entries. In their names, ``__`` means a slash and ``_`` a dot."""
    out = io.BytesIO()
    new = {name.replace("__", "/").replace("_", "."): body for name, body in entries.items()}
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            if entry.filename not in new:
                target.writestr(entry, source.read(entry))
        for name, body in new.items():
            target.writestr(name, body)
    return out.getvalue()
