"""Text of files with separated values. The separator is detected."""

from __future__ import annotations

import csv
import io
import re

from baton_documents import refusals
from baton_documents.media_types import MediaType
from baton_documents.results import BlockKind, ExtractedText, TextBlock
from baton_documents.text.plain_text import decoded, table_text

_SEPARATORS = ",;\t|"
_DECLARED = re.compile(r'sep=([^"\n])\n', re.IGNORECASE)
"""The line before the rows that names the separator for Excel, which cannot be a quotation mark."""
_SAMPLE = 16 * 1024
_MAX_FIELD = 16 * 1024 * 1024


def extract(body: bytes, charset: str | None = None) -> ExtractedText:
    """Return the file's table as one block; no block if it is empty."""
    text = decoded(body, MediaType("text/csv", charset))
    declared = _DECLARED.match(text)
    separator = declared[1] if declared else _separator(text[:_SAMPLE])
    text = text[declared.end() :] if declared else text
    csv.field_size_limit(_MAX_FIELD)
    try:
        table = table_text(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        raise refusals.damaged() from None
    return ExtractedText((TextBlock(BlockKind.TABLE, table),) if table else ())


def _separator(sample: str) -> str:
    """Return the character that divides the most lines into the same number of fields, which is at least two."""
    lines = [line for line in sample.split("\n")[:50] if line.strip()]

    def agreement(separator: str) -> tuple[int, int]:
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=counts.count, default=0)
        return (counts.count(usual) if usual else 0, usual)

    return max(_SEPARATORS, key=agreement)
