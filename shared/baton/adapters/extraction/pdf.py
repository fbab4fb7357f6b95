"""PDF files: text by pages, with headings by the size of their letters, and tables by their lines."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from baton.adapters.extraction import refusals
from baton.adapters.extraction.pdf_bounds import MAX_PAGES, PdfGraph
from baton.adapters.extraction.pdf_tables import PageTable, TableReader
from baton.domain.document import PageError
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

MAX_PAGE_CHARACTERS = 1_000_000
MAX_HEADING = 200
"""Characters."""
_LEVELS = ((1.8, 1), (1.4, 2), (1.15, 3))
"""How much larger than the text the letters of a heading are, and its level."""
_GAP = 0.7
"""The height of an empty line, as a share of the letters' size, that parts paragraphs."""
_HYPHEN = "\x02"
"""PDFium's character for a hyphen that divides a word at the end of a line."""
_lock = threading.Lock()
"""PDFium may be used by one thread at a time."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    size: float
    """Of its first letter, in points; 0 if unknown."""
    top: float
    """Points from the top of the page."""
    bottom: float


def pages(body: bytes) -> int:
    """Return the number of pages. Raises ``DocumentUnreadable``."""
    graph = PdfGraph.of(body)
    with _lock, _opened(body) as document:
        count = len(document)
    if not count:
        raise refusals.damaged()
    if count > MAX_PAGES:
        raise refusals.too_long()
    if graph is not None:
        costly = graph.costly_pages(1, MAX_PAGES)
        # Pages that PDFium counts in another way cannot be told apart.
        if len(costly) == count or (costly and count != graph.count):
            raise refusals.bomb()
        graph.check_fields()
    return count


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the text of a range of pages. A page that cannot be read is left out and noted."""
    read: dict[int, tuple[list[_Line], list[PageTable]]] = {}
    errors: list[PageError] = []
    graph = PdfGraph.of(body)
    costly = graph.costly_pages(first, last) if graph is not None else frozenset()
    with _lock, _opened(body) as document, TableReader(body) as tables:
        title = document.get_metadata_value("Title").strip()
        count = len(document)
        for number in range(first, min(last, count) + 1):
            if number in costly:
                errors.append(PageError(number, "The page draws too much to be read."))
                continue
            try:
                lines, has_pictures, page_tables = _page(document, number, tables)
            except (pdfium.PdfiumError, ValueError, OverflowError):
                errors.append(PageError(number, "The page is damaged."))
                continue
            if not lines and has_pictures:
                errors.append(PageError(number, "The page has no text. It may have been scanned."))
            read[number] = lines, page_tables
    usual = _usual_size(line for lines, _ in read.values() for line in lines)
    blocks = [block for number, (lines, found) in read.items() for block in _blocks(lines, found, number, usual)]
    return ExtractedText(tuple(blocks), title or None, count, tuple(errors))


def _opened(body: bytes) -> Any:
    try:
        return pdfium.PdfDocument(body)
    except pdfium.PdfiumError as problem:
        if getattr(problem, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD or "password" in str(problem).lower():
            raise refusals.encrypted() from None
        raise refusals.damaged() from None


def _page(document: Any, number: int, tables: TableReader) -> tuple[list[_Line], bool, list[PageTable]]:
    page = document[number - 1]
    try:
        height = page.get_height()
        text_page = page.get_textpage()
        try:
            lines = list(_lines(text_page, height))
        finally:
            text_page.close()
        kinds = Counter(each.type for each in page.get_objects(max_depth=2))
        found = tables.on_page(number, kinds[pdfium_c.FPDF_PAGEOBJ_PATH]) if lines and not page.get_rotation() else []
    finally:
        page.close()
    return lines, kinds[pdfium_c.FPDF_PAGEOBJ_IMAGE] > 0, found


def _lines(text_page: Any, height: float) -> Iterator[_Line]:
    count = min(text_page.count_chars(), MAX_PAGE_CHARACTERS)
    text = text_page.get_text_range(0, count) if count > 0 else ""
    has_places = len(text) == count  # otherwise characters have no place among those of the page
    place = 0
    for line in text.split("\r\n"):
        stripped = line.replace(_HYPHEN, "").replace("\ufffe", "").replace("\0", "")
        letter = next((place + index for index, char in enumerate(line) if not char.isspace()), None)
        if letter is not None and stripped.strip():
            ends_divided = line.endswith((_HYPHEN, "\ufffe"))
            box = _box(text_page, letter) if has_places else None
            size = pdfium_c.FPDFText_GetFontSize(text_page.raw, letter) if has_places else 0.0
            top, bottom = (height - box[1], height - box[0]) if box is not None else (0.0, 0.0)
            # A character that is in no document marks where the word goes on.
            yield _Line(stripped.strip() + (_HYPHEN if ends_divided else ""), _scaled(size, top, bottom), top, bottom)
        place += len(line) + 2


def _box(text_page: Any, letter: int) -> tuple[float, float] | None:
    """Return bottom and top of a character's line."""
    box = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDFText_GetLooseCharBox(text_page.raw, letter, ctypes.byref(box)):
        return None
    return box.bottom, box.top


def _scaled(size: float, top: float, bottom: float) -> float:
    """Return the size of letters as they are shown: a font's own may be 1, and its page enlarged."""
    return bottom - top if bottom > top else size


def _usual_size(lines: Iterator[_Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _blocks(lines: Sequence[_Line], tables: Sequence[PageTable], number: int, usual: float) -> Iterator[TextBlock]:
    waiting = sorted(tables, key=lambda table: table.top)
    paragraph: list[_Line] = []
    for line in lines:
        middle = (line.top + line.bottom) / 2
        while waiting and waiting[0].top < middle:
            yield from _joined(paragraph, number)
            yield TextBlock(BlockKind.TABLE, waiting.pop(0).text, number)
        if any(table.holds(line.text, middle) for table in tables):
            continue
        level = _level(line, usual)
        if level is not None:
            yield from _joined(paragraph, number)
            yield TextBlock(BlockKind.HEADING, line.text.rstrip(_HYPHEN), number, level)
            continue
        if paragraph and _is_apart(paragraph[-1], line):
            yield from _joined(paragraph, number)
        paragraph.append(line)
    yield from _joined(paragraph, number)
    for table in waiting:
        yield TextBlock(BlockKind.TABLE, table.text, number)


def _level(line: _Line, usual: float) -> int | None:
    if not usual or len(line.text) > MAX_HEADING or not any(char.isalpha() for char in line.text):
        return None
    return next((level for share, level in _LEVELS if line.size >= share * usual), None)


def _is_apart(before: _Line, line: _Line) -> bool:
    if not line.size or not before.size:
        return False
    gap = line.top - before.bottom
    return gap > _GAP * line.size or gap < -2 * line.size  # below an empty line, or in the next column


def _joined(paragraph: list[_Line], number: int) -> Iterator[TextBlock]:
    """Yield the lines as one paragraph; a word that was divided at the end of a line is whole again."""
    text = "\n".join(line.text for line in paragraph).replace(f"{_HYPHEN}\n", "").rstrip(_HYPHEN)
    paragraph.clear()
    if text:
        yield TextBlock(BlockKind.PARAGRAPH, text, number)
