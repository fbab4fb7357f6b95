"""The direction of the lines of a PDF page, by its letters."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import pypdfium2.raw as pdfium_c

from baton_documents.pdf.places import Flow

_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""Letters of Hebrew, Arabic, Syriac, Thaana, N'Ko and other scripts that run from the right."""
_COMPOSED = re.compile(
    "[\u0300-\u036f\u0590-\u109f\u1780-\u17ff\u1a00-\u1aff\ufb1d-\ufdff\ufe70-\ufeff"
    "\U00010800-\U00011fff\U0001e800-\U0001efff]"
)
"""Letters that run from the right, or whose marks and neighbours are drawn around them."""
_FULL = "[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]"
_WIDE_PAIR = re.compile(f"{_FULL}(?:\r\n)?(?={_FULL})")
"""Two adjacent wide letters, which may be written beside or below each other."""
_MOST_PAIRS = 300
"""The most pairs of letters whose places are compared."""


def is_composed(text: str) -> bool:
    """Return whether a page has letters that PDFium may order differently from the order of reading."""
    return _COMPOSED.search(text) is not None


def find_flow(text: str, page: Any) -> Flow:
    """Return the flow of most words of a page. ``page`` is PDFium's text page."""
    if _RIGHT.search(text):
        words = [_RIGHT.search(word) is not None for word in text.split() if any(map(str.isalpha, word))]
        if sum(words) >= len(words) / 2:
            return Flow.FROM_RIGHT
    return Flow.VERTICAL if _is_vertical(text, page) else Flow.FROM_LEFT


def _is_vertical(text: str, page: Any) -> bool:
    """Return whether adjacent wide letters are more often below each other than beside each other."""
    pairs = [match.span() for match in _WIDE_PAIR.finditer(text)]
    pairs = pairs[:: len(pairs) // _MOST_PAIRS + 1]
    down = across = 0
    for index, following in pairs:
        (x, y), (other_x, other_y) = _find_origin(page, index), _find_origin(page, following)
        down += abs(other_y - y) > 2 * abs(other_x - x)
        across += abs(other_x - x) > 2 * abs(other_y - y)
    return down > across


def _find_origin(page: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetCharOrigin(page.raw, index, x, y)
    return x.value, y.value
