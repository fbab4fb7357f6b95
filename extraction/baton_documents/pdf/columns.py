"""Columns of a page of a PDF file, which are read one after the other.

A file may draw columns row by row. A gap through many lines separates columns only if both sides are running text:
lines with no room for the next word, which continue in the next line. The cells of a table without drawn lines are no
running text, and are read row by row in the order of the file.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from baton_documents.pdf.places import Box
from baton_documents.pdf.words import DIVIDED, Line, Word

MAX_LINES = 2_000
"""The most lines of a page that are compared with each other."""
_GAP = 0.7
"""The smallest distance between columns, as a multiple of the letters' size."""
_NEAR = 3.0
"""The largest difference between the left edges of a column's lines, in points."""
_INDENT = 3.0
"""The largest indent of a paragraph's first line, as a multiple of the letters' size."""
_FEWEST = 3
"""The fewest lines of a column."""
_NARROWEST = 6.0
"""The smallest width of a column, as a multiple of the letters' size."""
_FULL = 0.7
"""The smallest share of lines without room for the next word in running text."""
_ENDS = (".", "!", "?", ":", ";", "\u2026", "\u3002", "\u201d", '"', ")")
_EVEN = 1.5
"""The smallest ratio of the distance between paragraphs to the usual distance between lines."""
_MAX_LEVELS = 8
"""The most divisions of a page into columns, one inside the other."""
_USUAL_SIZE = 10.0
"""The size of letters, in points, of lines whose size is unknown."""
_LONG_CELL = 4
"""The most lines of a paragraph that may be a cell of a table, not a paragraph of a column."""
_APART = 1.0
"""The smallest gap between columns and a header or footer, as a multiple of the letters' size."""
_MOST_APART = 3
"""The most rows of a header or footer, and the most pieces of one row."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a line without a wide gap in it."""

    line: Line
    words: tuple[Word, ...]
    box: Box
    order: int
    """The index of the piece in the file's order."""

    @property
    def is_text(self) -> bool:
        """Whether the piece is upright, and not only values of form fields or a table."""
        return self.line.is_upright and not all(word.is_value for word in self.words)


def sort_by_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page in the order of reading, divided at the gaps between columns."""
    lefts = sorted(gap for line in lines for gap in _find_gaps(line))
    pieces = [piece for line in lines for piece in _divide_line(line, lefts)]
    pieces = [replace(piece, order=order) for order, piece in enumerate(pieces)]
    if len(pieces) > MAX_LINES:
        return list(lines)
    return _join_pieces(_order_pieces(pieces, 0))


def _find_gaps(line: Line) -> Iterator[float]:
    """Yield the left edges of a line, and of its words after wide gaps."""
    yield line.words[0].box.left
    if line.is_upright and line.size:
        for before, word in pairwise(line.words):
            if not -_GAP * line.size < word.box.left - before.box.right < _GAP * line.size:
                yield word.box.left


def _divide_line(line: Line, lefts: list[float]) -> Iterator[_Piece]:
    """Yield the parts of a line between gaps after which other lines begin too, unlike the gaps of justified text."""
    words: list[Word] = []
    gaps = set(_find_gaps(line))
    for word in line.words:
        left = word.box.left
        if words and left in gaps and bisect(lefts, left + _NEAR) - bisect(lefts, left - _NEAR) >= _FEWEST:
            yield _make_piece(line, words)
            words = []
        words.append(word)
    yield _make_piece(line, words)


def _make_piece(line: Line, words: list[Word]) -> _Piece:
    return _Piece(line, tuple(words), Line(words, line.size).box, 0)


def _join_pieces(pieces: Iterable[_Piece]) -> list[Line]:
    """Return the lines that pieces form. Adjacent pieces of one line are joined again."""
    lines: list[Line] = []
    before: _Piece | None = None
    for piece in pieces:
        if before is not None and before.line is piece.line:
            lines[-1].words.extend(piece.words)
        else:
            lines.append(replace(piece.line, words=list(piece.words)))
        before = piece
    return lines


def _order_pieces(pieces: list[_Piece], level: int) -> list[_Piece]:
    """Return pieces in the order of reading. ``level`` is the number of divisions around them."""
    division = _find_columns(pieces) if level < _MAX_LEVELS and len(pieces) >= 2 * _FEWEST else None
    if division is None:
        return sorted(pieces, key=lambda piece: piece.order)
    above, left, right, below = division
    return [piece for part in (above, left, right, below) for piece in _order_pieces(part, level + 1)]


_Parts = tuple[list[_Piece], list[_Piece], list[_Piece], list[_Piece]]


def _find_columns(pieces: list[_Piece]) -> _Parts | None:
    """Return the pieces above two columns, in the left one, in the right one and below; None without columns."""
    by_top = sorted(pieces, key=lambda piece: (piece.box.top, piece.box.left))
    best: _Parts | None = None
    for edge in _find_inner_edges(by_top):
        for first, last in _find_runs(by_top, edge):
            parts = _divide_run(by_top, first, last, edge)
            if parts is not None and (best is None or _count_pieces(parts) > _count_pieces(best)):
                best = parts
    return best


def _count_pieces(parts: _Parts) -> int:
    """Return the number of pieces in both columns."""
    return len(parts[1]) + len(parts[2])


def _find_inner_edges(pieces: list[_Piece]) -> list[float]:
    """Return the left edges, except the leftmost edge, that at least ``_FEWEST`` lines have in common."""
    lefts = sorted(piece.box.left for piece in pieces if piece.is_text)
    groups: list[list[float]] = []
    for left in lefts:
        if groups and left - groups[-1][0] <= _NEAR:
            groups[-1].append(left)
        else:
            groups.append([left])
    return [group[0] for group in groups[1:] if len(group) >= _FEWEST]


def _find_runs(pieces: list[_Piece], edge: float) -> list[tuple[int, int]]:
    """Return the ranges of pieces of which none crosses the gap before an edge."""
    ranges, start = [], 0
    for index, piece in enumerate([*pieces, None]):
        if piece is None or (
            piece.box.left < edge - 1 and piece.box.right > edge - _GAP * (piece.line.size or _USUAL_SIZE)
        ):
            if index - start >= 2 * _FEWEST:
                ranges.append((start, index))
            start = index + 1
    return ranges


def _divide_run(pieces: list[_Piece], first: int, last: int, edge: float) -> _Parts | None:
    """Return the parts of a page whose columns are in a range of pieces; None if the range has no columns."""
    run = pieces[first:last]
    left = [piece for piece in run if piece.box.left < edge - 1]
    right = [piece for piece in run if piece.box.left >= edge - 1]
    if min(len(left), len(right)) < _FEWEST:
        return None
    start, end = _find_top(run), _find_bottom(run, is_followed=last < len(pieces))
    left = [piece for piece in left if start <= piece.box.middle <= end]
    right = [piece for piece in right if start <= piece.box.middle <= end]
    if not _are_columns(left, right, edge):
        return None
    above = pieces[:first] + [piece for piece in run if piece.box.middle < start]
    below = [piece for piece in run if piece.box.middle > end] + pieces[last:]
    return above, left, right, below


def _find_top(run: list[_Piece]) -> float:
    """Return the top of the columns: the height below headers, rows with a distance to the columns."""
    rest = sorted(run, key=lambda piece: piece.box.top)
    for _ in range(_MOST_APART):
        row = [piece for piece in rest if piece.box.top < rest[0].box.middle]
        if len(row) > _MOST_APART or len(row) == len(rest):
            break
        after = rest[len(row)]
        if after.box.top - max(piece.box.bottom for piece in row) < _APART * after.line.size:
            break
        rest = rest[len(row) :]
    return rest[0].box.top


def _find_bottom(run: list[_Piece], *, is_followed: bool) -> float:
    """Return the bottom of the columns: the height above footers, and above a heading of the text that follows."""
    rest = sorted(run, key=lambda piece: piece.box.bottom, reverse=True)
    for _ in range(_MOST_APART):
        row = [piece for piece in rest if piece.box.bottom > rest[0].box.middle]
        if len(row) > _MOST_APART or len(row) == len(rest):
            break
        before = rest[len(row)]
        is_apart = min(piece.box.top for piece in row) - before.box.bottom >= _APART * before.line.size
        if not is_apart and not (is_followed and len(row) == 1 and _differ_in_size(row[0], before)):
            break
        rest = rest[len(row) :]
    return rest[0].box.bottom


def _differ_in_size(first: _Piece, second: _Piece) -> bool:
    """Return whether the letters of two pieces differ in size by more than a tenth."""
    sizes = first.line.size, second.line.size
    return max(sizes) > 1.1 * min(sizes)


def _find_line_distance(pieces: list[_Piece]) -> float:
    """Return the usual distance between the tops of lines; 0 for fewer than two lines."""
    tops = sorted(piece.box.top for piece in pieces)
    steps = [below - above for above, below in pairwise(tops) if below - above > 1]
    return median(steps) if steps else 0.0


def _are_columns(left: list[_Piece], right: list[_Piece], edge: float) -> bool:
    """Return whether pieces on both sides of an edge are running text.

    In scripts with two cases, a quarter of the lines of running text begin in lower case.
    """
    left_text = _find_running_text(left, max(_find_common_edges(left), default=0.0))
    right_text = _find_running_text(right, edge)
    if left_text is None or right_text is None:
        return False
    if _have_common_rows(left_text, right_text):
        return False
    starts = [piece.words[0].text[0] for column in (left_text, right_text) for piece in column[1:]]
    cased = [letter for letter in starts if letter.isupper() or letter.islower()]
    return len(cased) < len(starts) / 2 or sum(map(str.islower, cased)) >= 0.25 * len(starts)


def _find_common_edges(pieces: list[_Piece]) -> list[float]:
    """Return the left edges, including the leftmost edge, that at least ``_FEWEST`` lines have in common."""
    edges = [min((piece.box.left for piece in pieces), default=0.0), *_find_inner_edges(pieces)]
    return [edge for edge in edges if sum(abs(piece.box.left - edge) <= _NEAR for piece in pieces) >= _FEWEST]


def _find_running_text(pieces: list[_Piece], edge: float) -> list[_Piece] | None:
    """Return the lines of the column that begins at an edge; None unless they are running text."""
    column = [
        piece
        for piece in pieces
        if piece.is_text and -_NEAR <= piece.box.left - edge <= _INDENT * (piece.line.size or _USUAL_SIZE)
    ]
    column.sort(key=lambda piece: piece.box.top)
    if len(column) < _FEWEST:
        return None
    size = median(piece.line.size for piece in column)
    right = max(piece.box.right for piece in column)
    words = [word.text for piece in column for word in piece.words]
    numbers = sum(any(letter.isdigit() for letter in word) for word in words)
    if right - edge < _NARROWEST * size or numbers > len(words) / 2:
        return None
    return column if _are_full(column, right, size) else None


def _are_full(column: list[_Piece], right: float, size: float) -> bool:
    """Return whether lines have no room for the first word of the next line, by width or by number of letters."""
    step = _find_line_distance(column)
    letters = [len(" ".join(word.text for word in piece.words)) for piece in column]
    compared = by_width = by_letters = 0
    for index, (piece, after) in enumerate(pairwise(column)):
        last, first = piece.words[-1].text, after.words[0]
        is_divided = last.endswith(("-", DIVIDED))
        has_width = not is_divided and right - piece.box.right >= first.box.width + 0.7 * size
        has_letters = not is_divided and max(letters) - letters[index] > len(first.text)
        is_end = last.endswith(_ENDS) or (step and after.box.top - piece.box.top > _EVEN * step)
        if is_end and has_width and has_letters:
            continue
        compared += 1
        by_width += not has_width
        by_letters += not has_letters
    return compared >= 2 and max(by_width, by_letters) >= _FULL * compared


def _have_common_rows(left: list[_Piece], right: list[_Piece]) -> bool:
    """Return whether paragraphs begin at the same heights on both sides, as cells of a table do."""
    left_tops, right_tops = _find_starts(left), _find_starts(right)
    common = sum(any(abs(top - height) <= 2 for height in right_tops) for top in left_tops)
    is_short = len(left) <= _LONG_CELL * (len(left_tops) + 1)
    return is_short and common >= 2 and common >= 0.6 * max(len(left_tops), len(right_tops))


def _find_starts(column: list[_Piece]) -> list[float]:
    """Return the tops of lines below a gap that is larger than usual."""
    tops = [piece.box.top for piece in column]
    steps = [below - above for above, below in pairwise(tops)]
    usual = min((step for step in steps if step > 1), default=0.0)
    return [top for top, step in zip(tops[1:], steps, strict=True) if step > 1.2 * usual]
