"""The lines of a PDF page, in the order of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton_documents.pdf.letters import Reader
from baton_documents.pdf.words import Line, PageText, Word

_SCANNED = 0.5
"""The smallest share of a scanned page that its picture covers."""
_ADJACENT = 0.1
"""The largest distance between letters of one word, as a multiple of their size."""
_HARDLY = 5
"""A scanned page has more than this many times as many letters as visible letters, such as those of a stamp."""


def read(reader: Reader, add_lines: Callable[[Reader, PageText], None]) -> PageText:
    """Return the visible text of a page.

    Text without ink is left out, unless it belongs to a scan: a picture of the page with hardly any other text.
    ``add_lines`` adds the lines of the page to its text.
    """
    objects = reader.objects
    if objects.invisible and objects.measure_cover(reader.places.whole) > _SCANNED:
        whole = _read(replace(reader, left_out=objects.hidden), add_lines)
        page_text = _read(replace(reader, left_out=objects.hidden | objects.invisible), add_lines)
        return whole if page_text.letters * _HARDLY < whole.letters else page_text
    return _read(replace(reader, left_out=objects.hidden | objects.invisible), add_lines)


def _read(reader: Reader, add_lines: Callable[[Reader, PageText], None]) -> PageText:
    page_text = PageText()
    add_lines(reader, page_text)
    return page_text


def add_lines(reader: Reader, page_text: PageText) -> None:
    """Add the lines of a page to ``page_text``, in PDFium's order."""
    for start, end in reader.find_line_ranges():
        words = list(reader.find_words(start, end, page_text))
        if not words:
            continue
        line = reader.make_line(words, start, end)
        if page_text.lines and _continues_line(page_text.lines[-1], line):
            last, first = page_text.lines[-1].words[-1], words[0]
            if first.box.left - last.box.right < _ADJACENT * line.size:
                page_text.lines[-1].words[-1] = Word(last.text + first.text, last.box.unite(first.box))
                words = words[1:]
            page_text.lines[-1].words.extend(words)
        else:
            page_text.lines.append(line)


def _continues_line(before: Line, line: Line) -> bool:
    """Return whether a line is the rest of the previous one, which PDFium has split at a wide gap."""
    last, first = before.words[-1].box, line.words[0].box
    if not before.is_upright or not line.is_upright or first.left < last.right - 1:
        return False
    if abs(last.middle - first.middle) < 0.2 * before.size:
        return True
    common = min(last.bottom, first.bottom) - max(last.top, first.top)  # of a letter above or below the line
    return first.left - last.right < 0.2 * before.size and common > 0.4 * min(last.height, first.height)
