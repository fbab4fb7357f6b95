"""Units of text: the smallest pieces that a document is divided into, with how good a border is before each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

MAX_UNIT = 800
"""Characters of a unit. Twice as many fit a chunk, so that a short chunk can always take one more unit."""
MIN_UNIT = 48
"""Characters below which a unit joins the one before it, where no heading and no new block of text parts them."""
MAX_HEADING = 200
"""Characters of a heading that stand in a path of headings."""
MAX_HEADINGS = 6
"""Headings of a path. The innermost ones stay."""
MAX_TABLE_HEADER = 300
"""Characters of a table's first row that are repeated."""


class Border(IntEnum):
    """What stands before a unit, the best place for a cut first."""

    HEADING = 0
    BLOCK = 1
    ITEM = 2
    """The next item of a list, or row of a table."""
    SENTENCE = 3
    LINE = 4
    """A line of code, or of a sentence that is longer than a unit."""
    INSIDE = 5
    """The middle of a sentence."""
    AFTER_HEADING = 6


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a block. The texts of a block's units, one after another, are the block's text."""

    text: str
    border: Border
    separator: str
    """What stands between the text before and this one."""
    headings: tuple[str, ...]
    page: int | None
    table_header: str | None = None
    """The first row of the table, for all rows but the first."""


# ruff: noqa: RUF001 - the punctuation of other scripts is meant
# The end of a sentence with its closing quotes and the space behind it; scripts without spaces need none. A row of
# marks is looked at once, from its first one, so that the time does not grow with its square.
_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+\s+|[。！？｡]+["'”’»）」』】]*\s*|[।॥။]+\s*""")
_ENDS_SENTENCE = re.compile(r"""[.!?…:。！？｡।॥။]["'”’»)\]）」』】]*\s*\Z""")
# What comes before a full stop that ends no sentence: an initial, a number of a list, a common abbreviation.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-Za-z]|\d{1,2}|e\.g|i\.e|z\.B|d\.h|u\.a|cf|vs|etc|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Fig|Eq|al|ca|bzw|usw|Inc|Ltd|Co)\.\s+\Z"
)
_LINE_END = re.compile(r"\n+")
_CLAUSE_END = re.compile(r"[;:,]\s+|[，、；：]|\s[–—-]\s")
_SPACE = re.compile(r"\s+")


def units_of(texts: Sequence[ExtractedText]) -> Iterator[Unit]:
    """Yield the units of a document in the order of reading. Blocks without any text have none."""
    path: list[tuple[int, str]] = []
    before: TextBlock | None = None
    for block in (block for text in texts for block in text.blocks):
        if not block.text.strip():
            continue
        if block.kind is BlockKind.HEADING:
            level = block.level or 1
            path = [each for each in path if each[0] < level]
            path.append((level, _SPACE.sub(" ", block.text.strip())[:MAX_HEADING].strip()))
        headings = tuple(heading for _, heading in path[-MAX_HEADINGS:])
        border, separator = _between(before, block)
        if before is not None and block.space is not None:
            separator = block.space
        header = _table_header(block)
        for index, (text, inner) in enumerate(_pieces(block)):
            first = index == 0
            yield Unit(
                text,
                border if first else inner,
                separator if first else "",
                headings,
                block.page,
                None if first else header,
            )
        before = block


def _between(before: TextBlock | None, block: TextBlock) -> tuple[Border, str]:
    """Return the border between two blocks, and their separator."""
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
        return Border.INSIDE, "\n"  # a paragraph goes on, on the next page
    if block.kind in {BlockKind.LIST_ITEM, BlockKind.TABLE, BlockKind.CODE} and before.text.rstrip().endswith(":"):
        return Border.SENTENCE, "\n\n"  # what was announced
    return Border.BLOCK, "\n\n"


def _table_header(block: TextBlock) -> str | None:
    if block.kind is not BlockKind.TABLE:
        return None
    return block.text.lstrip().split("\n", 1)[0].strip()[:MAX_TABLE_HEADER] or None


def _pieces(block: TextBlock) -> Iterator[tuple[str, Border]]:
    """Yield the pieces of a block's text, and the border before each."""
    if block.kind is BlockKind.TABLE:
        pieces = _cut(block.verbatim, _LINE_END, Border.ITEM)
    elif block.kind is BlockKind.CODE:
        pieces = _cut(block.verbatim, _LINE_END, Border.LINE)
    else:
        pieces = _sentences(block.verbatim)
    text, border = "", Border.BLOCK
    for piece, inner in pieces:
        for part, part_border in _bounded(piece, inner):
            if text and (len(text) >= MIN_UNIT or len(text) + len(part) > MAX_UNIT):
                yield text, border
                text = ""
            if not text:
                border = part_border
            text += part
    if text:
        yield text, border


def _sentences(text: str) -> Iterator[tuple[str, Border]]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() < len(text) and not _ABBREVIATION.search(text[max(start, match.end() - 12) : match.end()]):
            yield text[start : match.end()], Border.SENTENCE
            start = match.end()
    yield text[start:], Border.SENTENCE


def _cut(text: str, ends: re.Pattern[str], border: Border) -> Iterator[tuple[str, Border]]:
    start = 0
    for match in ends.finditer(text):
        yield text[start : match.end()], border
        start = match.end()
    if start < len(text):
        yield text[start:], border


def _bounded(piece: str, border: Border) -> Iterator[tuple[str, Border]]:
    """Yield a piece in parts of at most ``MAX_UNIT`` characters, cut where it hurts least."""
    start = 0
    while len(piece) - start > MAX_UNIT:
        end, next_border = _best_cut(piece, start)
        yield piece[start:end], border
        start, border = end, next_border
    yield piece[start:], border


def _best_cut(piece: str, start: int) -> tuple[int, Border]:
    """Return where to end a part that begins at ``start``: behind a line, a clause or a word, or at least a character.

    It has at least a quarter of ``MAX_UNIT`` characters.
    """
    least, most = start + MAX_UNIT // 4, start + MAX_UNIT
    for ends, border in ((_LINE_END, Border.LINE), (_CLAUSE_END, Border.INSIDE), (_SPACE, Border.INSIDE)):
        last = None
        for match in ends.finditer(piece, least, most):
            last = match.end()
        if last is not None and last > least:
            return last, border
    end = most
    while end > least and _joins(piece[end]):
        end -= 1
    return (end if end > least else most), Border.INSIDE


def _joins(character: str) -> bool:
    """Return whether a character belongs to the one before it."""
    return bool(unicodedata.combining(character)) or character in "\u200d\ufe0f" or "\udc00" <= character <= "\udfff"
