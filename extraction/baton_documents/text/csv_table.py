"""Text of files with separated values. The separator is detected."""

from __future__ import annotations

import csv
import io
import re

from baton_documents import refusals
from baton_documents.media_types import MediaType
from baton_documents.results import BlockKind, ExtractedText, TextBlock
from baton_documents.text.plain_text import format_table, read_text

_SEPARATORS = ",;\t|"
_DECLARED = re.compile(r'sep=([^"\n])\n', re.IGNORECASE)
"""The line before the rows that names the separator for Excel, which cannot be a quotation mark."""
_SAMPLE = 16 * 1024
"""The number of characters in which the separator is detected."""
_MAX_FIELD = 16 * 1024 * 1024
"""The most characters of a cell."""


def extract(body: bytes, charset: str | None = None) -> ExtractedText:
    """Return the file's table as one block; no block if it is empty."""
    text = read_text(body, MediaType("text/csv", charset))
    declared = _DECLARED.match(text)
    separator = declared[1] if declared else _detect_separator(text[:_SAMPLE])
    text = text[declared.end() :] if declared else text
    csv.field_size_limit(_MAX_FIELD)
    try:
        table = format_table(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        raise refusals.damaged() from None
    return ExtractedText((TextBlock(BlockKind.TABLE, table),) if table else ())


def _detect_separator(sample: str) -> str:
    """Return the character that divides the most lines into the same number of fields; a comma if none divides any."""
    lines = [line for line in sample.split("\n")[:50] if line.strip()]

    def measure_agreement(separator: str) -> tuple[int, int]:
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=counts.count, default=0)
        return (counts.count(usual) if usual else 0, usual)

    return max(_SEPARATORS, key=measure_agreement)
