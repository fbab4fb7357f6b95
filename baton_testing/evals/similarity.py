"""Similarity of two texts by their words, without a model."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

MAX_WORDS = 2_000
"""The most words of each text that are compared. The time is proportional to the product of their numbers."""
_WORD = re.compile(r"\w+", re.UNICODE)


def split_words(text: str) -> list[str]:
    """Return the first ``MAX_WORDS`` words of a text, folded in case and width."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())[:MAX_WORDS]


def compute_token_f1(answer: str, expected: str) -> float:
    """Return the harmonic mean of precision and recall of words, from 0 to 1, whatever their order.

    Two texts without words are equal: 1.

    This F1 is that of SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250, section 6.1), without its rules for English.
    """
    answer_words, expected_words = split_words(answer), split_words(expected)
    return _compute_f1(
        (Counter(answer_words) & Counter(expected_words)).total(), len(answer_words), len(expected_words)
    )


def compute_rouge_l(answer: str, expected: str) -> float:
    """Return the F1 of the longest common subsequence of words, from 0 to 1 (Lin 2004, ROUGE-L).

    Two texts without words are equal: 1.
    """
    answer_words, expected_words = split_words(answer), split_words(expected)
    return _compute_f1(_measure_common(answer_words, expected_words), len(answer_words), len(expected_words))


def _compute_f1(common: int, result: int, expected: int) -> float:
    if not result and not expected:
        return 1.0
    return 2 * common / (result + expected)


def _measure_common(columns: Sequence[str], rows: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two sequences.

    A row of the table is an integer with a bit for each column (Hyyrö 2004), so that 2,000 words take a millisecond.
    """
    positions: dict[str, int] = {}
    for index, word in enumerate(columns):
        positions[word] = positions.get(word, 0) | 1 << index
    all_bits = (1 << len(columns)) - 1
    row = all_bits
    for word in rows:
        matches = row & positions.get(word, 0)
        row = ((row + matches) | (row - matches)) & all_bits
    return len(columns) - row.bit_count()
