"""PDF files: the visible text of pages, with headings by the size of their letters."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from baton_documents import refusals
from baton_documents.pdf import columns as pdf_columns
from baton_documents.pdf import fields as pdf_fields
from baton_documents.pdf import flow as pdf_flow
from baton_documents.pdf import fonts as pdf_fonts
from baton_documents.pdf import layers as pdf_layers
from baton_documents.pdf import letters as pdf_letters
from baton_documents.pdf import lines as pdf_lines
from baton_documents.pdf import mixed_lines as pdf_mixed_lines
from baton_documents.pdf import objects as pdf_objects
from baton_documents.pdf import tables as pdf_tables
from baton_documents.pdf import words as pdf_words
from baton_documents.pdf.bounds import MAX_PAGES, PdfGraph
from baton_documents.pdf.costs import PageCosts
from baton_documents.pdf.glyph_names import GlyphNames
from baton_documents.pdf.letters import Reader
from baton_documents.pdf.objects import PageObjects
from baton_documents.pdf.places import Flow, PagePlaces
from baton_documents.pdf.words import Line, PageText, Word
from baton_documents.results import BlockKind, ExtractedText, PageError, TextBlock
from baton_documents.titles import clean_title

MAX_HEADING = 200
"""The most characters of a heading."""
_LEVELS = ((1.8, 1), (1.4, 2), (1.15, 3))
"""The smallest ratios of the size of a heading's letters to the usual size, each with the level."""
_GAP = 0.7
"""The smallest gap between paragraphs, as a share of the letters' size."""
_MANY_SHAPES = 20
"""The number of filled paths from which the letters of a page without text have probably become curves."""
_LOST = "Some letters of the page are left out: their fonts do not say which letters they show."
_lock = threading.Lock()
"""PDFium may only be used by one thread at a time."""


class _PageUnreadable(Exception):
    """The text of a page would be empty or nonsense. The message is for the reader of the document."""


def count_pages(body: bytes) -> int:
    """Return the number of pages. Raises ``DocumentRefused`` if the file is damaged, encrypted or too large."""
    graph = PdfGraph.of(body)
    if graph is not None:
        graph.check_fields()
    with _lock, _open(body) as document:
        count = len(document)
    if not count:
        raise refusals.damaged()
    if count > MAX_PAGES:
        raise refusals.too_long()
    if graph is not None:
        costs = PageCosts(graph)
        costly = costs.find_costly_pages(1, MAX_PAGES)
        # If PDFium counts the pages otherwise, the numbers of costly pages are not reliable.
        if len(costly) == count or (costly and count != costs.count):
            raise refusals.bomb()
    return count


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the text of a range of pages. An unreadable page is left out, and has an error in the result."""
    graph = PdfGraph.of(body)
    costly = PageCosts(graph).find_costly_pages(first, last) if graph is not None else frozenset()
    if graph is not None:
        graph.check_fields()
    pages: dict[int, _Page] = {}
    errors: list[PageError] = []
    with _lock, _open(body) as document:
        title = clean_title(document.get_metadata_value("Title"))
        count = len(document)
        is_from_right = _requests_right_to_left(document)
        for number in range(first, min(last, count) + 1):
            try:
                if number in costly:
                    raise _PageUnreadable("The page draws too much to be read.")
                pages[number] = _read_page(document[number - 1], number, graph, is_from_right=is_from_right)
            except _PageUnreadable as problem:
                errors.append(PageError(number, str(problem)))
            except (pdfium.PdfiumError, ValueError, OverflowError):
                errors.append(PageError(number, "The page is damaged."))
        _add_fields(document, pages)
    lines: dict[int, list[Line]] = {}
    for number, page in pages.items():
        try:
            lines[number] = page.order_lines()
            if page.text.lost:
                errors.append(PageError(number, _LOST))
        except _PageUnreadable as problem:
            errors.append(PageError(number, str(problem)))
    usual = _find_usual_size(line for page_lines in lines.values() for line in page_lines)
    blocks = [block for number, page_lines in lines.items() for block in _make_blocks(page_lines, number, usual)]
    return ExtractedText(tuple(blocks), title, count, tuple(sorted(errors, key=lambda error: error.page)))


def _open(body: bytes) -> Any:
    """Open a file with PDFium. Raises ``DocumentRefused``."""
    pdf_fonts.replace_system_fonts()
    try:
        return pdfium.PdfDocument(body)
    except pdfium.PdfiumError as problem:
        if getattr(problem, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD or "password" in str(problem).lower():
            raise refusals.encrypted() from None
        raise refusals.damaged() from None


def _requests_right_to_left(document: Any) -> bool:
    """Return whether a document requests lines from the right, which PDFium then assumes of all lines."""
    name = ctypes.create_string_buffer(8)
    return bool(pdfium_c.FPDF_VIEWERREF_GetName(document.raw, b"Direction", name, 8)) and name.value == b"R2L"


@dataclass(slots=True)
class _Page:
    """One page as PDFium has read it."""

    places: PagePlaces
    text: PageText
    objects: PageObjects
    states: dict[int, str]
    """The states of the page's fields, by their indexes among its annotations."""
    values: list[Word]
    """The values of the page's fields, and the notes on it."""

    def order_lines(self) -> list[Line]:
        """Return the lines of the page in the order of reading. Raises ``_PageUnreadable``."""
        if self.text.is_garbled:
            raise _PageUnreadable("The text of the page cannot be read: its fonts do not say which letters they show.")
        if not self.text.lines and not self.values:
            if self.objects.pictures:
                raise _PageUnreadable("The page has no text. It may have been scanned.")
            if self.objects.shapes >= _MANY_SHAPES:
                raise _PageUnreadable("The page has no text, only drawings. Its letters may be curves.")
        lines = pdf_fields.put_in(self.text.lines, self.values)
        return pdf_columns.sort_by_reading_order(pdf_tables.put_in(lines, self.objects.lines))


def _read_page(page: Any, number: int, graph: PdfGraph | None, *, is_from_right: bool) -> _Page:
    """Read a page, except the values of its fields, and close it."""
    try:
        text_page = page.get_textpage()
        try:
            letters = pdf_letters.read_letters(text_page)
            places = PagePlaces.of(page, pdf_flow.find_flow(letters, text_page))
            is_plain = not is_from_right and places.flow is Flow.FROM_LEFT and not pdf_flow.is_composed(letters)
            objects = pdf_objects.read(page, places, pdf_layers.find_hidden(graph, number), with_spans=not is_plain)
            reader = Reader(text_page, letters, places, objects, GlyphNames(graph, number), is_from_right)
            text = pdf_lines.read(reader, pdf_lines.add_lines if is_plain else pdf_mixed_lines.add_lines)
        finally:
            text_page.close()
        states = pdf_fields.read_states(page, graph, number)
        return _Page(places, text, objects, states, list(pdf_fields.read_notes(page, places)))
    finally:
        page.close()


def _add_fields(document: Any, pages: dict[int, _Page]) -> None:
    """Add the values of fields. Their pages are opened again, because PDFium changes them when the form is opened."""
    with_fields = {number: page for number, page in pages.items() if page.states}
    if not with_fields:
        return
    with pdf_fields.open_form(document) as form:
        for number, page in with_fields.items() if form is not None else ():
            with closing(document[number - 1]) as opened:
                page.values += pdf_fields.read_values(opened, form, page.places, page.states)


def _find_usual_size(lines: Iterator[Line]) -> float:
    """Return the size of most letters, in points; 0 without lines of a known size."""
    sizes: Counter[float] = Counter()
    for line in lines:
        if line.size:
            sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _make_blocks(lines: Sequence[Line], number: int, usual: float) -> Iterator[TextBlock]:
    """Yield the paragraphs, headings and tables of a page, given the usual size of letters."""
    paragraph: list[Line] = []
    for line in lines:
        if line.is_table:
            yield from _end_paragraph(paragraph, number)
            yield TextBlock(BlockKind.TABLE, line.text, number)
            continue
        level = _find_level(line, usual)
        if level is not None:
            yield from _end_paragraph(paragraph, number)
            yield TextBlock(BlockKind.HEADING, pdf_words.join_lines([line.text]), number, level)
            continue
        if paragraph and _is_apart(paragraph[-1], line):
            yield from _end_paragraph(paragraph, number)
        paragraph.append(line)
    yield from _end_paragraph(paragraph, number)


def _find_level(line: Line, usual: float) -> int | None:
    """Return the level of a heading by the size of its letters; None for other lines."""
    text = line.text
    if not usual or len(text) > MAX_HEADING or not any(char.isalpha() for char in text):
        return None
    return next((level for ratio, level in _LEVELS if line.size >= ratio * usual), None)


def _is_apart(before: Line, line: Line) -> bool:
    """Return whether a line begins a new paragraph."""
    if pdf_words.is_divided(before.text, line.text):
        return False
    if before.is_upright != line.is_upright:
        return True
    if not line.size or not before.size:
        return False
    gap = line.box.top - before.box.bottom
    return gap > _GAP * line.size or gap < -2 * line.size  # after an empty line, or in the next column


def _end_paragraph(paragraph: list[Line], number: int) -> Iterator[TextBlock]:
    """Yield the paragraph of the lines, if they have text, and clear them."""
    text = pdf_words.join_lines(line.text for line in paragraph)
    paragraph.clear()
    if text:
        yield TextBlock(BlockKind.PARAGRAPH, text, number)
