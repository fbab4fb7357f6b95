"""Plain text, and tables as text: rows as lines, with cells separated by " | "."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from baton_documents import refusals
from baton_documents.document import CELL_SEPARATOR
from baton_documents.encodings.text_encoding import decode_text
from baton_documents.media_types import UNKNOWN, MediaType
from baton_documents.results import BlockKind, ExtractedText, TextBlock

_CHARACTERS_PER_ZERO = 1000
"""The fewest characters for each zero byte of a text. Logs contain zero bytes after a crash."""
MAX_REPEATED = 200
"""The most characters of a cell that is repeated in all rows that it covers. A longer cell is only in the first row."""


def format_table(rows: Iterable[Sequence[str | None]]) -> str:
    """Return the text of a table, without empty rows."""
    return "\n".join(filter(None, map(format_row, rows)))


def format_row(cells: Sequence[str | None]) -> str:
    """Return the line of a row; empty if all cells are empty. Line breaks in cells become spaces."""
    texts = [" ".join((cell or "").split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return CELL_SEPARATOR.join(texts)


_PARAGRAPH = re.compile(r"\S.*(?:\n.*\S.*)*")
"""Consecutive lines that are not blank."""


def read_text(body: bytes, media_type: MediaType = UNKNOWN) -> str:
    """Return the text of a file, with line feeds as line ends. A few zero bytes become U+FFFD.

    Raises ``DocumentRefused`` for binary content.
    """
    text = decode_text(body, media_type)
    if text.count("\0") * _CHARACTERS_PER_ZERO > len(text):
        raise refusals.mislabelled("text", "binary")
    return text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def extract(body: bytes, charset: str | None = None) -> ExtractedText:
    """Return the paragraphs of a text, which are separated by blank lines."""
    return ExtractedText(tuple(divide_into_paragraphs(read_text(body, MediaType("text/plain", charset)))))


def divide_into_paragraphs(text: str) -> list[TextBlock]:
    """Return the paragraphs of a text, verbatim, each with the space before it."""
    blocks: list[TextBlock] = []
    end = 0
    for match in _PARAGRAPH.finditer(text):
        blocks.append(TextBlock(BlockKind.PARAGRAPH, match[0].rstrip(), space=text[end : match.start()]))
        end = match.start() + len(blocks[-1].text)
    return blocks
