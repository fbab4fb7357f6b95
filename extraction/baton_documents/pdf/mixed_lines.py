"""Lines that PDFium cannot order: from the right, from above, and in scripts with composed letters."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise
from statistics import median

from baton_documents.pdf import bidi as pdf_bidi
from baton_documents.pdf import glyphs as pdf_glyphs
from baton_documents.pdf.glyphs import Glyph
from baton_documents.pdf.letters import Reader
from baton_documents.pdf.places import Box, Flow
from baton_documents.pdf.rows import GAP, Row, turn_brackets
from baton_documents.pdf.words import Line, PageText, Word

_NEAR = 3.0
"""The largest difference between equal edges of lines, in points."""
_SIGNS = "-+\u2212\u2013"
_ENDS = ".,:;!?\u060c\u061b\u061f\u06d4"
_BEHIND_NUMBERS = """
% \u00b0 \u00b0c \u00b0f nm n kn kg g mg t m cm mm km \u00b5m \u03bcm l ml s ms min h kb mb gb tb w kw mw kwh v mv kv
a ma hz khz mhz ghz pa kpa mpa bar mbar psi rpm db k px dpi fps lux lm ppm j kj kcal cal lb oz ft in mi mph mm/s m/s
km/h kbps mbps gbps usd eur ils nis gbp chf jpy sar aed egp kwd qar irr try inr pkr
"""
_UNITS = frozenset(_BEHIND_NUMBERS.split())
"""Words that follow numbers. They decide if nothing else shows whether a word is read before a number."""


def add_lines(reader: Reader, page_text: PageText) -> None:
    """Add the lines of a page to ``page_text``, each in the order of reading."""
    rows: list[Row | Line] = []
    for start, end in reader.find_line_ranges():
        glyphs = pdf_glyphs.read(reader, start, end, page_text)
        if not _runs_as_the_page(reader, glyphs):
            words = list(reader.find_words(start, end, page_text))
            line = reader.make_line(words, start, end) if words else None
            if line is not None:
                is_vertical = reader.places.flow is Flow.VERTICAL
                rows.append(replace(line, is_upright=False, size=0.0) if is_vertical else line)
            continue
        row = rows[-1] if rows else None
        turned = [glyph for glyph in glyphs if not glyph.is_upright]
        for glyph in glyphs if not turned else (glyph for glyph in glyphs if glyph.is_upright):
            if not isinstance(row, Row) or not row.takes(glyph):
                row = Row(reader.places.flow)
                rows.append(row)
            row.add(glyph)
        if turned:
            rows.append(_make_turned_line(reader, turned))
    own = [row for row in rows if isinstance(row, Row)]
    turn_brackets(own)
    page = _Page(reader, own)
    lines = [page.make_line(row) if isinstance(row, Row) else row for row in rows]
    page_text.lines += [line for line in lines if line is not None]
    if reader.places.flow is Flow.VERTICAL:
        _sort_vertical(page_text.lines)


def _runs_as_the_page(reader: Reader, glyphs: Sequence[Glyph]) -> bool:
    """Return whether the letters of a line are beside each other, or below each other on a vertical page."""
    if not glyphs:
        return True
    if reader.places.flow is not Flow.VERTICAL:
        return reader.is_upright(glyphs[0].first)
    if abs(glyphs[-1].level - glyphs[0].level) < glyphs[0].size:  # digits beside each other in a column
        return True
    pairs = [(glyph, following) for glyph, following in pairwise(glyphs) if not following.is_mark]
    along = sum(abs(following.box.left - glyph.box.left) for glyph, following in pairs)
    return along >= sum(abs(following.level - glyph.level) for glyph, following in pairs)


def _make_turned_line(reader: Reader, glyphs: Sequence[Glyph]) -> Line:
    """Return a line of turned letters, in their order along the line."""
    along = {glyph: reader.measure_along(glyph.first) for glyph in glyphs}
    items = [glyph.text for glyph in sorted(glyphs, key=along.__getitem__)]
    is_from_right = any(pdf_bidi.find_direction(item) in ("R", "AL") for item in items)
    order = pdf_bidi.find_reading_order(items, is_from_right=is_from_right, is_word_first=lambda word, number: True)
    text = "".join(pdf_bidi.mirror(items[index]) if is_turned else items[index] for index, is_turned in order)
    box = Line([Word("", glyph.box) for glyph in glyphs], 0.0).box
    return Line([Word(reader.write(text, is_last=True), box)], 0.0, is_upright=False)


def _sort_vertical(lines: list[Line]) -> None:
    """Sort vertical lines from right to left if the file has the opposite order."""
    tops = [line.box.top for line in lines if line.is_upright]
    steps = [below > above for above, below in pairwise(tops)]
    if sum(steps) < len(steps) / 2:
        lines.sort(key=lambda line: line.box.top)


@dataclass
class _Page:
    """The rows of a page, and facts about all of them that decide the order of each row."""

    reader: Reader
    rows: list[Row]

    @property
    def is_from_right(self) -> bool:
        """Whether most words of the page run from the right."""
        return self.reader.places.flow is Flow.FROM_RIGHT

    @cached_property
    def edges(self) -> tuple[list[float], list[float]]:
        """The sorted places at which lines begin, and those at which they end."""
        boxes = [row.box for row in self.rows if row.largest is not None]
        return sorted(box.left for box in boxes), sorted(box.right for box in boxes)

    @cached_property
    def begin_alike(self) -> bool:
        """Whether the commonest beginning has more lines than the commonest end."""
        beginnings, ends = (max(_count_near(edges, edge) for edge in edges) for edges in self.edges)
        return beginnings > ends

    @cached_property
    def rules(self) -> list[Box]:
        """Drawn vertical lines, from left to right."""
        return sorted(
            (line for line in self.reader.objects.lines if line.height > line.width), key=lambda rule: rule.left
        )

    @cached_property
    def mixed(self) -> set[int]:
        """The text objects with letters from the right and letters or digits from the left.

        Their white space does not show a change of direction.
        """
        directions = {
            (glyph.owner, pdf_bidi.find_direction(glyph.text) in ("R", "AL"))
            for row in self.rows
            for glyph in row.glyphs
            if pdf_bidi.find_direction(glyph.text) in ("L", "R", "AL", "EN")
        }
        return {owner for owner, is_right in directions if is_right and (owner, False) in directions}

    @cached_property
    def has_spaces(self) -> bool:
        """Whether white space between words from the left has glyphs."""
        glyphs = [glyph for row in self.rows for glyph in row.glyphs if glyph.owner not in self.mixed]
        letters = {glyph.owner for glyph in glyphs if pdf_bidi.find_direction(glyph.text) == "L"}
        return any(glyph.text.isspace() and glyph.owner in letters for glyph in glyphs)

    def make_line(self, row: Row) -> Line | None:
        """Return the line of a row; None if it has no visible words."""
        parts = groupby(row.find_items(self.rules), lambda item: item.text != GAP)
        cells = [list(cell) for is_cell, cell in parts if is_cell]
        words: list[Word] = []
        for cell in reversed(cells) if self.is_from_right else cells:
            order = pdf_bidi.find_reading_order(
                [item.text for item in cell],
                is_from_right=self._begins_right(row, cell, is_alone=len(cells) == 1),
                is_word_first=partial(self._is_word_first, cell),
            )
            words += _place_in_order(list(self._make_words(cell, order)))
        sizes = [glyph.size for glyph in row.glyphs if not glyph.is_mark]
        return Line(words, median(sizes)) if words else None

    def _begins_right(self, row: Row, cell: Sequence[Glyph], *, is_alone: bool) -> bool:
        """Return whether a cell runs from the right, by its punctuation, its letters, its page and its margins."""
        letters = [pdf_bidi.find_direction(item.text) for item in cell]
        right, left = letters.count("R") + letters.count("AL"), letters.count("L")
        if not right and not self.is_from_right:
            return False
        score = 2 * ((cell[0].text in _ENDS) - (cell[-1].text in _ENDS)) + (1 if self.is_from_right else -1)
        if not right:
            return score + 2 * _count_leaning_signs(cell) > 0
        score += (right > left) - (left > right)
        if score:
            return score > 0
        beginnings, ends = self.edges
        is_at_end = _count_near(beginnings, row.box.left) < _count_near(ends, row.box.right)
        return self.is_from_right != (is_alone and self.begin_alike and is_at_end)

    def _is_word_first(self, cell: Sequence[Glyph], word: int, number: int) -> bool:
        """Return whether a word is read before the number to its right, as it is if both were drawn together."""
        last = max(index for index in range(word, number) if pdf_bidi.find_direction(cell[index].text) == "L")
        between = cell[last + 1 : number]
        if between[0].text.isspace() != between[-1].text.isspace():
            is_sign = (between[0] if between[-1].text.isspace() else between[-1]).text in _SIGNS
            return between[-1].text.isspace() != is_sign  # a comma follows a word, a sign precedes a number
        spaces = {item.owner for item in between if item.text.isspace() and item.owner}
        beside = {cell[last].owner, cell[number].owner}
        if not self.mixed.intersection(spaces | beside):
            if spaces:
                return not beside.isdisjoint(spaces)
            if self.has_spaces:  # a browser draws no space that is a run by itself
                return False
        first, *_ = "".join(item.text for item in cell[word:number]).split()
        return first.strip("().,").lower() not in _UNITS

    def _make_words(self, cell: Sequence[Glyph], order: Sequence[tuple[int, bool]]) -> Iterator[Word]:
        """Yield the visible words of a cell, whose glyphs are in the given order."""
        parts = [(cell[index], is_turned) for index, is_turned in order]
        runs = [list(run) for is_space, run in groupby(parts, lambda part: part[0].text.isspace()) if not is_space]
        for number, run in enumerate(runs):
            box = Line([Word("", glyph.box) for glyph, _ in run], 0.0).box
            text = "".join(
                pdf_bidi.mirror(glyph.text) if is_turned and not glyph.is_as_read else glyph.text
                for glyph, is_turned in run
            )
            text = self.reader.write(text, is_last=number == len(runs) - 1)
            if text and self.reader.is_seen(box):
                yield Word(text, box)


def _count_leaning_signs(cell: Sequence[Glyph]) -> int:
    """Return the number of commas and the like on the left of words, less the number on the right."""
    spaces = [True, *(item.text.isspace() for item in cell), True]
    ends = [number for number, item in enumerate(cell, 1) if item.text in _ENDS]
    return sum(spaces[end - 1] - spaces[end + 1] for end in ends)


def _count_near(edges: Sequence[float], edge: float) -> int:
    """Return the number of sorted edges that are equal to an edge, within ``_NEAR``."""
    return bisect(edges, edge + _NEAR) - bisect(edges, edge - _NEAR)


def _place_in_order(words: list[Word]) -> list[Word]:
    """Return words with places in the order of reading: words against the direction of the line exchange places."""
    words_in_order: list[Word] = []
    run: list[Word] = []
    for word in words:
        if run and word.box.right > run[-1].box.left + 1:
            words_in_order += _exchange_places(run)
            run = []
        run.append(word)
    return words_in_order + _exchange_places(run)


def _exchange_places(run: list[Word]) -> list[Word]:
    """Return words from right to left with places from left to right, in the same room."""
    if len(run) < 2:
        return run
    start, end = run[-1].box.left, run[0].box.right
    return [
        replace(word, box=replace(word.box, left=start + end - word.box.right, right=start + end - word.box.left))
        for word in run
    ]
