"""PDF files that are drawn as layout programs draw them: columns, forms, turned and hidden text."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from reportlab.lib import pagesizes
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

FONT, SIZE, LEADING = "Helvetica", 10, 12


def draw_page(draw: Callable[[Canvas], None], *, rotation: int = 0, title: str | None = None) -> bytes:
    """A file with one page of A4 that a function draws."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=pagesizes.A4, invariant=1)
    if title is not None:
        canvas.setTitle(title)
    canvas.setFont(FONT, SIZE)
    canvas.setPageRotation(rotation)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def wrap_lines(text: str, width: float, size: float = SIZE) -> list[str]:
    """Lines of a paragraph, as full as its words let them be."""
    lines: list[str] = []
    for word in text.split():
        if lines and stringWidth(f"{lines[-1]} {word}", FONT, size) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def draw_columns(
    canvas: Canvas, columns: Sequence[Sequence[str]], lefts: Sequence[float], top: float, shift: float = 0
) -> None:
    """Draw columns of lines row by row, each column so much lower than the previous one."""
    for row in range(max(map(len, columns))):
        for index, (column, x) in enumerate(zip(columns, lefts, strict=True)):
            if row < len(column):
                canvas.drawString(x, top - row * LEADING - index * shift, column[row])
