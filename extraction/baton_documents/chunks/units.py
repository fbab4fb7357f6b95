"""Units of text: the smallest pieces of a document that are not divided, each with the border before it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from baton_documents.chunks.table_headers import continues_table, find_header_rows, shorten_header
from baton_documents.document import CELL_SEPARATOR
from baton_documents.results import BlockKind, TextBlock

MAX_UNIT = 800
"""The most characters of a unit: half of those of a chunk, so that a short chunk can always take one more unit."""
MIN_UNIT = 48
"""The size in characters below which a unit takes the next piece of its block too, unless ``MAX_UNIT`` is exceeded."""
MAX_HEADING = 200
"""The most characters of a heading in a path."""
MAX_HEADINGS = 6
"""The most headings of a path. The innermost ones are kept."""
MAX_BETWEEN = 4
MAX_BETWEEN_SIZE = 160
"""The most blocks, and the most characters of these blocks, between the parts of a table on two pages.

The blocks may be headers and footers of the pages.
"""


class Border(IntEnum):
    """A kind of border before a unit, from the best place for a cut to the worst."""

    HEADING = 0
    BLOCK = 1
    ITEM = 2
    """The beginning of a further item of a list, or of a further row of a table."""
    SENTENCE = 3
    LINE = 4
    """The beginning of a line of code, or of a line in a sentence that is longer than a unit."""
    INSIDE = 5
    """The middle of a sentence."""
    AFTER_HEADING = 6
    """The beginning of the block below a heading, which a cut would part from the heading."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a block. The concatenated texts of a block's units are the block's text."""

    text: str
    border: Border
    separator: str
    """The text between the previous unit and this one."""
    headings: tuple[str, ...]
    page: int | None
    is_table: bool = False
    table_header: str | None = None
    """The part of the table's header that precedes the unit; None outside tables, and if nothing of it precedes."""


# ruff: noqa: RUF001 - the punctuation of other scripts is meant
# The end of a sentence with its closing quotes and the space after it; scripts without spaces need none. A run of
# marks is matched only from its first mark, so that the time does not grow with the square of its length.
_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+\s+|[。！？｡]+["'”’»）」』】]*\s*|[।॥။]+\s*""")
_ENDS_SENTENCE = re.compile(r"""[.!?…:。！？｡।॥။]["'”’»)\]）」』】]*\s*\Z""")
# Words before a full stop that does not end a sentence: an initial, a number of a list, a common abbreviation.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-Za-z]|\d{1,2}|e\.g|i\.e|z\.B|d\.h|u\.a|cf|vs|etc|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Fig|Eq|al|ca|bzw|usw|Inc|Ltd|Co)\.\s+\Z"
)
_LINE_END = re.compile(r"\n+")
_CLAUSE_END = re.compile(r"[;:,]\s+|[，、；：]|\s[–—-]\s")
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"\d+")


def divide_into_units(blocks: Iterable[TextBlock]) -> Iterator[Unit]:
    """Yield the units of a document in the order of reading. Empty blocks are left out."""
    path: list[tuple[int, str]] = []
    before: TextBlock | None = None
    tables = _Tables()
    for block in blocks:
        if not block.text.strip():
            continue
        if block.kind is BlockKind.HEADING:
            level = block.level or 1
            path = [heading for heading in path if heading[0] < level]
            path.append((level, _SPACE.sub(" ", block.text.strip())[:MAX_HEADING].strip()))
        headings = tuple(heading for _, heading in path[-MAX_HEADINGS:])
        border, separator = _find_border(before, block)
        if before is not None and block.space is not None:
            separator = block.space
        tables.note_block(block)
        for index, (text, inner) in enumerate(_divide_block(block)):
            first = index == 0
            yield Unit(
                text,
                border if first else inner,
                separator if first else "",
                headings,
                block.page,
                block.kind is BlockKind.TABLE,
                tables.move_past(text) if block.kind is BlockKind.TABLE else None,
            )
        before = block


class _Tables:
    """The headers of a document's tables. A table on the next page may have the header of the previous one."""

    def __init__(self) -> None:
        self._rows: tuple[str, ...] = ()
        self._page: int | None = None
        self._sizes_between: list[int] | None = None
        """The sizes of the blocks since the last table; None after a new heading, and before the first table."""
        self._rows_ahead = 0
        self._cells_ahead = 0
        """The number of rows of the header before the next unit, and of cells before it in its row."""
        self._headings = set[str]()

    def note_block(self, block: TextBlock) -> None:
        """Note the next block of the document."""
        if block.kind is BlockKind.TABLE:
            self._rows_ahead = self._cells_ahead = 0
            if self._follows_table(block) and continues_table(self._rows, block.verbatim):
                self._rows_ahead = len(self._rows)
            else:
                self._rows = find_header_rows(block.verbatim)
            self._page, self._sizes_between = block.page, []
        elif block.kind is BlockKind.HEADING and not self._note_heading(block):
            self._sizes_between = None
        elif self._sizes_between is not None:
            self._sizes_between.append(len(block.text))

    def move_past(self, text: str) -> str | None:
        """Move past the next unit of a table, which has this text. Return the part of the header before the unit.

        None if no row of the header precedes it.
        """
        header = shorten_header(self._rows[: self._rows_ahead], self._cells_ahead)
        self._rows_ahead += text.count("\n")
        _, line_end, rest = text.rpartition("\n")
        self._cells_ahead = rest.count(CELL_SEPARATOR) + (0 if line_end else self._cells_ahead)
        return header

    def _note_heading(self, block: TextBlock) -> bool:
        """Note a heading. Return whether it is a header or footer: noted before, or with the page's number in it."""
        text = _NUMBER.sub("", block.text)
        is_known = text in self._headings
        self._headings.add(text)
        return is_known or str(block.page) in _NUMBER.findall(block.text)

    def _follows_table(self, block: TextBlock) -> bool:
        """Return whether nothing but headers and footers of pages is between a table and the previous one."""
        between = self._sizes_between
        if between is None:
            return False
        if block.page == self._page:  # an empty row separates them
            return not between
        is_next = block.page is not None and self._page == block.page - 1
        return is_next and len(between) <= MAX_BETWEEN and sum(between) <= MAX_BETWEEN_SIZE


def _find_border(before: TextBlock | None, block: TextBlock) -> tuple[Border, str]:
    """Return the border and the separator between two blocks."""
    if before is None:
        return Border.HEADING, ""
    if before.kind is BlockKind.HEADING:
        return Border.AFTER_HEADING, "\n\n"
    if block.kind is BlockKind.HEADING:
        return Border.HEADING, "\n\n"
    if before.kind is block.kind is BlockKind.LIST_ITEM:
        return Border.ITEM, "\n"
    both_text = before.kind is block.kind is BlockKind.PARAGRAPH
    if both_text and before.page != block.page and not _ENDS_SENTENCE.search(before.text[-20:]):
        return Border.INSIDE, "\n"  # the paragraph continues on the next page
    if block.kind in {BlockKind.LIST_ITEM, BlockKind.TABLE, BlockKind.CODE} and before.text.rstrip().endswith(":"):
        return Border.SENTENCE, "\n\n"  # the previous block announces this one
    return Border.BLOCK, "\n\n"


def _divide_block(block: TextBlock) -> Iterator[tuple[str, Border]]:
    """Yield the pieces of a block's text, each with the border before it."""
    if block.kind is BlockKind.TABLE:
        pieces = _split_after(block.verbatim, _LINE_END, Border.ITEM)
    elif block.kind is BlockKind.CODE:
        pieces = _split_after(block.verbatim, _LINE_END, Border.LINE)
    else:
        pieces = _split_sentences(block.verbatim)
    text, border = "", Border.BLOCK
    for piece, inner in pieces:
        for part, part_border in _split_piece(piece, inner):
            if text and (len(text) >= MIN_UNIT or len(text) + len(part) > MAX_UNIT):
                yield text, border
                text = ""
            if not text:
                border = part_border
            text += part
    if text:
        yield text, border


def _split_sentences(text: str) -> Iterator[tuple[str, Border]]:
    """Yield the sentences of a text, with the white space after them."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() < len(text) and not _ABBREVIATION.search(text[max(start, match.end() - 12) : match.end()]):
            yield text[start : match.end()], Border.SENTENCE
            start = match.end()
    yield text[start:], Border.SENTENCE


def _split_after(text: str, ends: re.Pattern[str], border: Border) -> Iterator[tuple[str, Border]]:
    """Yield the pieces of a text that end with a match of ``ends``, and the rest of the text."""
    start = 0
    for match in ends.finditer(text):
        yield text[start : match.end()], border
        start = match.end()
    if start < len(text):
        yield text[start:], border


def _split_piece(piece: str, border: Border) -> Iterator[tuple[str, Border]]:
    """Yield the parts of a piece, of at most ``MAX_UNIT`` characters, cut at the best places."""
    start = 0
    while len(piece) - start > MAX_UNIT:
        end, next_border = _find_best_cut(piece, start)
        yield piece[start:end], border
        start, border = end, next_border
    yield piece[start:], border


def _find_best_cut(piece: str, start: int) -> tuple[int, Border]:
    """Return the end of a part that begins at ``start``, and the border there.

    The best cut is after the last end of a line, otherwise of a clause, a word or a character. The part has between a
    quarter of ``MAX_UNIT`` and ``MAX_UNIT`` characters.
    """
    least, most = start + MAX_UNIT // 4, start + MAX_UNIT
    for ends, border in ((_LINE_END, Border.LINE), (_CLAUSE_END, Border.INSIDE), (_SPACE, Border.INSIDE)):
        last = None
        for match in ends.finditer(piece, least, most):
            last = match.end()
        if last is not None and last > least:
            return last, border
    end = most
    while end > least and _is_joined(piece[end]):
        end -= 1
    return (end if end > least else most), Border.INSIDE


def _is_joined(character: str) -> bool:
    """Return whether a character must not be parted from the previous one."""
    return bool(unicodedata.combining(character)) or character in "\u200d\ufe0f" or "\udc00" <= character <= "\udfff"
