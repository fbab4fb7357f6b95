"""The glyphs of a page of a PDF file with their places, in the order in which the file draws them.

PDFium reverses text that seems to run from the right, by rules that are only right for lines of one script. This module
undoes it. A glyph that shows several letters, and glyphs that show one letter together, become one ``Glyph``.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby

import pypdfium2.raw as pdfium_c

from baton_documents.pdf.bidi import mirror
from baton_documents.pdf.fonts import FULL
from baton_documents.pdf.letters import REST, Reader
from baton_documents.pdf.objects import Span, find_address
from baton_documents.pdf.places import Box, Flow
from baton_documents.pdf.words import PageText

_LETTERS, _WEAK, _RIGHT, _NEUTRAL = "letters", "weak", "right", "neutral"
_KINDS = {
    "L": _LETTERS,
    **dict.fromkeys(("AN", "EN", "NSM", "CS", "ES", "ET", "BN"), _WEAK),
    **dict.fromkeys(("R", "AL"), _RIGHT),
}
_FORMS = (0xFB1D, 0xFE00), (0xFE70, 0xFF00)
"""Ranges of presentation forms. PDFium replaces a form by its letters, which it does not reverse."""
_FULL = re.compile("[{}]".format("".join(f"{chr(first)}-{chr(last)}" for first, last in FULL)))
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "\u2019\u2018\u201d\u201c")
"""Quotes that PDFium mirrors like brackets."""
_HEIGHT = 0.8
"""The share of a letter's size above the base line."""


@dataclass(frozen=True, slots=True)
class Glyph:
    """One or more glyphs that belong together, and the letters that they show."""

    text: str
    box: Box
    pen: float
    """The place along the line at which the glyph is drawn."""
    level: float
    """The place of the line: the height of the base line, or the middle of a vertical line."""
    size: float
    """Points."""
    owner: int = 0
    """The address of the text object; 0 without one."""
    first: int = -1
    """The index of the first letter in PDFium's text; -1 without one."""
    is_upright: bool = True
    is_as_read: bool = False
    """Whether the file states the text to read. Brackets are then as in the text, not as they are seen."""

    @property
    def is_mark(self) -> bool:
        """Whether it is a mark above or below a letter."""
        return _is_mark(self.text)

    @property
    def is_letter(self) -> bool:
        """Whether it is neither a mark nor white space."""
        return not _is_mark(self.text) and not self.text.isspace()


def restore_drawn_order(text: str, start: int, end: int, *, is_from_right: bool) -> list[tuple[int, str]]:
    """Return the indexes and letters of a line of PDFium's text in their order before PDFium reversed parts of it.

    ``is_from_right`` is True if the document requests that all lines run from the right.
    """
    segments = [
        (kind, [index for index, _ in part])
        for kind, part in groupby(
            ((index, text[index]) for index in range(start, end)), lambda pair: _classify(pair[1])
        )
    ]  # fmt: skip
    kinds = [kind for kind, _ in segments]
    is_from_right = is_from_right or kinds.count(_RIGHT) > kinds.count(_LETTERS)
    is_reversed, parts = is_from_right, []
    for kind, places in segments:
        if kind in (_LETTERS, _RIGHT):
            is_reversed = kind == _RIGHT
        if kind == _RIGHT or (kind == _NEUTRAL and is_reversed):
            parts.append([(index, mirror(text[index]).translate(_QUOTES)) for index in reversed(places)])
        else:
            parts.append([(index, text[index]) for index in places])
    return [pair for part in (reversed(parts) if is_from_right else parts) for pair in part]


@lru_cache(4096)
def _is_mark(text: str) -> bool:
    return all(unicodedata.category(letter) in ("Mn", "Me") for letter in text)


def _classify(char: str) -> str:
    """Return the kind of a character, by which PDFium decides what it reverses."""
    return _KINDS.get(unicodedata.bidirectional(char), _NEUTRAL)


def read(reader: Reader, start: int, end: int, page_text: PageText) -> list[Glyph]:
    """Return the visible glyphs of a line of PDFium's text, and count their letters in ``page_text``."""
    groups: dict[tuple[float, ...], list[tuple[int, str]]] = {}
    owners: dict[tuple[float, ...], int] = {}
    for index, char in restore_drawn_order(reader.text, start, end, is_from_right=reader.is_from_right):
        item = pdfium_c.FPDFText_GetTextObject(reader.page.raw, index)
        if not item or char == REST:  # white space that PDFium adds has no object
            continue
        owner = find_address(item)
        if owner in reader.left_out:
            continue
        span = reader.objects.spans.get(owner)
        key: tuple[float, ...] = (owner, *reader.find_origin(index)) if span is None else (id(span),)
        groups.setdefault(key, []).append((index, char))
        owners.setdefault(key, owner)
    glyphs = []
    for key, group in groups.items():
        span = reader.objects.spans.get(owners[key])
        if span is None:
            text = "".join(char if char.isspace() else reader.decode(index, char, page_text) for index, char in group)
        else:
            text = span.text
        if text:
            glyphs.append(_make_glyph(reader, owners[key], [index for index, _ in group], text, span))
    return glyphs


def _make_glyph(reader: Reader, owner: int, places: list[int], text: str, span: Span | None) -> Glyph:
    """Return the glyph of the letters at ``places``, the indexes in PDFium's text, which together show ``text``."""
    first = places[0] if len(places) == 1 else min(places)
    flow = reader.places.flow
    size, is_upright = reader.find_style(owner, first)
    if span is not None:
        box = span.box
    elif len(places) == 1:
        box = _find_ink(reader, first) if _is_mark(text) else reader.find_box(first)
    else:
        text = text[::-1] if text not in _list_decomposed() and text[::-1] in _list_decomposed() else text
        box = reader.find_box(first)
        for index in places[1:]:
            box = box.unite(reader.find_box(index))
    x, y = reader.places.place_point(*reader.find_origin(first))
    if flow is Flow.VERTICAL:
        if is_full(text):
            box = replace(box, left=x - _HEIGHT * size, right=x + (1 - _HEIGHT) * size)
        x, y = box.left, (box.top + box.bottom) / 2
        box = replace(box, top=y - size / 2, bottom=y + size / 2)
    elif span is not None:
        x = box.right if flow is Flow.FROM_RIGHT else box.left
    if is_upright and box.height < _HEIGHT * size:  # some fonts only give the bounds of the ink
        box = replace(box, top=y - _HEIGHT * size, bottom=y + (1 - _HEIGHT) * size)
    is_upright = is_upright or flow is Flow.VERTICAL
    return Glyph(text, box, x, y, size, owner, first, is_upright, span is not None)


def is_full(text: str) -> bool:
    """Return whether the first letter of a text is as wide as high, including the white space around it."""
    return _FULL.match(text) is not None


def _find_ink(reader: Reader, index: int) -> Box:
    """Return the box around the ink of a letter."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pdfium_c.FPDFText_GetCharBox(reader.page.raw, index, left, right, bottom, top)
    return reader.places.place_box(left.value, bottom.value, right.value, top.value)


@cache
def _list_decomposed() -> frozenset[str]:
    """Return the texts of the presentation forms that stand for several letters."""
    forms = (unicodedata.normalize("NFKC", chr(code)) for first, end in _FORMS for code in range(first, end))
    return frozenset(letters for letters in forms if len(letters) > 1)
