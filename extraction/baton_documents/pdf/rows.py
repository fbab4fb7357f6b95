"""Rows of glyphs, with the white space between them, on pages that PDFium cannot order."""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from baton_documents.pdf import bidi as pdf_bidi
from baton_documents.pdf.glyphs import Glyph, is_full
from baton_documents.pdf.places import Box, Flow

MAX_GLYPHS = 1_000
"""The most glyphs of one row. The time to order them grows with their square."""
GAP = "\t"
"""The text of a gap between cells or columns."""
_SLOPE = 1.7
"""The largest vertical distance of letters on one line, as a multiple of their size."""
_SPACE = 0.2
"""The smallest width of white space, as a multiple of the letters' size."""
_FULL_SPACE = 0.4
"""The smallest width of white space beside letters that are as wide as high."""
_TRACKED = 0.1
"""The smallest distance of letters in a spaced-out line, as a multiple of their size."""
_CELLS = 2.5
"""The smallest width of a gap between cells or columns, as a multiple of the letters' size."""


@dataclass(slots=True)
class Row:
    """The glyphs of one line."""

    flow: Flow
    glyphs: list[Glyph] = field(default_factory=list)
    largest: Glyph | None = None
    """The largest letter; None without letters."""
    box: Box = field(default_factory=lambda: Box(0.0, 0.0, 0.0, 0.0))
    """The box around the letters."""

    def takes(self, glyph: Glyph) -> bool:
        """Return whether a glyph belongs to the row."""
        if len(self.glyphs) >= MAX_GLYPHS:
            return False
        if self.largest is None or not glyph.is_letter:
            return True
        size, distance = max(glyph.size, self.largest.size), abs(glyph.level - self.largest.level)
        return distance < 0.5 * size or (distance < _SLOPE * size and self._is_beside(glyph))

    def _is_beside(self, glyph: Glyph) -> bool:
        """Return whether an Arabic letter is beside the other letters: in Nastaliq, words slope downwards."""
        common = min(self.box.bottom, glyph.box.bottom) - max(self.box.top, glyph.box.top)
        if pdf_bidi.find_direction(glyph.text) != "AL" or common < glyph.box.height / 2:
            return False
        middle, size = (glyph.box.left + glyph.box.right) / 2, glyph.size
        start, end = self.box.left, self.box.right
        is_inside = start + size / 2 <= middle <= end - size / 2
        return not is_inside and start - size < middle < end + size

    def add(self, glyph: Glyph) -> None:
        """Add a glyph, and extend the box if it is a letter."""
        self.glyphs.append(glyph)
        if glyph.is_letter:
            self.box = glyph.box if self.largest is None else self.box.unite(glyph.box)
            if self.largest is None or glyph.size > self.largest.size:
                self.largest = glyph

    @property
    def in_order(self) -> list[Glyph]:
        """The glyphs from left to right, each with the marks above and below it."""
        sign = -1 if self.flow is Flow.FROM_RIGHT else 1
        return sorted(_attach_marks(self.glyphs), key=lambda glyph: (round(sign * glyph.pen, 1), -glyph.level))

    def find_items(self, rules: Sequence[Box]) -> Iterator[Glyph]:
        """Yield the glyphs from left to right, and the white space between them.

        ``rules`` are drawn vertical lines, from left to right, which separate cells.
        """
        glyphs = self.in_order
        usual = self._measure_tracking(glyphs)
        before: Glyph | None = None
        space: Glyph | None = None
        for glyph in glyphs:
            if glyph.text.isspace():
                space = glyph
                continue
            if before is not None:
                yield from _find_space(before, glyph, space, usual, rules)
            before, space = glyph, None
            yield glyph

    def _measure_tracking(self, glyphs: Sequence[Glyph]) -> float:
        """Return the distance of letters within words if the row is spaced out; otherwise 0."""
        letters = [glyph for glyph in glyphs if not glyph.text.isspace()]
        gaps = sorted(_measure_gap(first, second) for first, second in pairwise(letters))
        distance = gaps[len(gaps) // 4] if len(gaps) > 5 else 0.0
        return distance if self.largest is not None and distance > _TRACKED * self.largest.size else 0.0


def _measure_gap(first: Glyph, second: Glyph) -> float:
    """Return the horizontal distance of two glyphs, in points; negative if they overlap."""
    return max(second.box.left - first.box.right, first.box.left - second.box.right)


def _find_space(
    first: Glyph, second: Glyph, space: Glyph | None, usual: float, rules: Sequence[Box]
) -> Iterator[Glyph]:
    """Yield the white space or the gap between two adjacent glyphs, if there is one. ``space`` is drawn white space."""
    width, size = _measure_gap(first, second), max(first.size, second.size)
    least = _FULL_SPACE if is_full(first.text) or is_full(second.text) else _SPACE
    is_space = space is not None or width > usual + least * size
    glyph = space or Glyph(" ", first.box, first.pen, first.level, size)
    if width > _CELLS * size or (is_space and _are_parted(first.box, second.box, rules)):
        yield replace(glyph, text=GAP)
    elif is_space:
        yield glyph


def _are_parted(box: Box, neighbour: Box, rules: Sequence[Box]) -> bool:
    """Return whether a drawn vertical line is between two boxes."""
    start, end = (box, neighbour) if box.left <= neighbour.left else (neighbour, box)
    first = bisect(rules, start.right - 1, key=lambda rule: rule.left)
    last = bisect(rules, end.left + 1, key=lambda rule: rule.left)
    return any(rule.top <= start.middle <= rule.bottom for rule in rules[first:last])


def _attach_marks(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Return the glyphs that are not marks, each with the marks above and below it."""
    letters = [glyph for glyph in glyphs if not glyph.is_mark]
    bases = sorted(
        (_find_middle(glyph), index) for index, glyph in enumerate(letters) if not glyph.text.isspace()
    )  # fmt: skip
    marks: dict[int, str] = defaultdict(str)
    for mark in glyphs:
        if mark.is_mark and bases:
            index = bisect(bases, (_find_middle(mark), 0))
            near = bases[max(index - 2, 0) : index + 2]
            _, base = min(near, key=lambda pair: _measure_distance(letters[pair[1]], _find_middle(mark)))
            marks[base] += mark.text
    for base, texts in marks.items():
        joined = "".join(sorted(texts, key=unicodedata.combining))
        letters[base] = replace(letters[base], text=letters[base].text + joined)
    return letters


def _find_middle(glyph: Glyph) -> float:
    return (glyph.box.left + glyph.box.right) / 2


def _measure_distance(glyph: Glyph, middle: float) -> tuple[float, float]:
    """Return the distances of a mark from the edges of a glyph (0 if it is between them), and from its middle."""
    return max(glyph.box.left - middle, middle - glyph.box.right, 0.0), abs(_find_middle(glyph) - middle)


def turn_brackets(rows: Sequence[Row]) -> None:
    """Mirror brackets in text from the right if the file stores them as they are read, not as they are seen.

    The pairs of each kind of bracket on the page show which form the file has.
    """
    places: dict[str, list[tuple[Row, Glyph]]] = defaultdict(list)
    pairs: Counter[str] = Counter()
    for row in rows:
        if not any(map(_is_bracket, row.glyphs)):
            continue
        glyphs = row.in_order
        kinds: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        for glyph, is_inside in zip(
            glyphs, pdf_bidi.find_inside_from_left([glyph.text for glyph in glyphs]), strict=True
        ):
            if _is_bracket(glyph) and not is_inside:
                kind = min(glyph.text, pdf_bidi.mirror(glyph.text))
                kinds[kind].append((glyph.text, glyph.is_as_read))
                places[kind] += [] if glyph.is_as_read else [(row, glyph)]
        pairs.update({kind: pdf_bidi.compare_pairs(brackets) for kind, brackets in kinds.items()})
    total = pairs.total()
    for kind, count in pairs.items():
        if count < 0 or (not count and total < 0):
            for row, glyph in places[kind]:
                row.glyphs[row.glyphs.index(glyph)] = replace(glyph, text=pdf_bidi.mirror(glyph.text))


def _is_bracket(glyph: Glyph) -> bool:
    return len(glyph.text) == 1 and unicodedata.mirrored(glyph.text) == 1
