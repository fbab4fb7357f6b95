"""Presentations."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pptx
from lxml import etree
from pptx.exc import PackageNotFoundError, PythonPptxError

from baton.adapters.extraction import refusals
from baton.adapters.extraction.tables import table_text
from baton.domain.document import PageError
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

_PROBLEMS = (PythonPptxError, KeyError, ValueError, AttributeError, TypeError, IndexError, etree.LxmlError)
"""What python-pptx raises for a file with missing or wrong parts."""


def pages(body: bytes) -> int:
    """Return the number of slides."""
    return len(_opened(body).slides)


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the text of slides: titles, text in shapes, tables, then the speaker's notes."""
    presentation = _opened(body)
    slides = list(presentation.slides)
    blocks: list[TextBlock] = []
    errors: list[PageError] = []
    for number, slide in enumerate(slides[first - 1 : last], first):
        try:
            blocks += _slide(slide, number)
        except _PROBLEMS:
            errors.append(PageError(number, "The slide is damaged."))
    return ExtractedText(tuple(blocks), presentation.core_properties.title or None, len(slides), tuple(errors))


def _opened(body: bytes) -> Any:
    try:
        return pptx.Presentation(io.BytesIO(body))
    except (*_PROBLEMS, PackageNotFoundError):
        raise refusals.damaged() from None


def _slide(slide: Any, number: int) -> list[TextBlock]:
    title = slide.shapes.title
    blocks = []
    if title is not None and title.text_frame.text.strip():
        blocks.append(TextBlock(BlockKind.HEADING, title.text_frame.text.strip().replace("\v", "\n"), number, 1))
    for shape in _shapes(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if shape.has_text_frame:
            blocks += _paragraphs(shape.text_frame, number)
        elif shape.has_table:
            text = table_text([cell.text for cell in row.cells] for row in shape.table.rows)
            if text:
                blocks.append(TextBlock(BlockKind.TABLE, text, number))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        blocks += _paragraphs(slide.notes_slide.notes_text_frame, number)
    return blocks


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield shapes in their order, those of groups too."""
    ahead = list(reversed(list(shapes)))
    while ahead:
        shape = ahead.pop()
        if hasattr(shape, "shapes"):
            ahead.extend(reversed(list(shape.shapes)))
        else:
            yield shape


def _paragraphs(frame: Any, number: int) -> Iterator[TextBlock]:
    texts = [paragraph.text.strip().replace("\v", "\n") for paragraph in frame.paragraphs]
    texts = [text for text in texts if text]
    kind = BlockKind.LIST_ITEM if len(texts) > 1 else BlockKind.PARAGRAPH
    for text in texts:
        yield TextBlock(kind, text, number)
