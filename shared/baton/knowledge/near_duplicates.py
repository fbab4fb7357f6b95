"""Texts that say again what a better one has said, such as a document that was uploaded twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

WORDS_IN_A_ROW = 5
SHARED = 0.8
"""The share of a text's rows of words from which on it is a duplicate of another one."""
_WORD = re.compile(r"\w+")

T = TypeVar("T")


def drop_near_duplicates(items: Sequence[T], text: Callable[[T], str]) -> list[T]:
    """Return the items without those whose text is nearly that of an earlier one."""
    kept: list[T] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    for item in items:
        rows = _rows(text(item))
        if not any(len(rows & other) >= SHARED * max(len(rows), len(other)) for other in seen):
            kept.append(item)
            seen.append(rows)
    return kept


def _rows(text: str) -> frozenset[tuple[str, ...]]:
    # A text without words is its own row: only an equal one is a duplicate.
    words = _WORD.findall(text.casefold()) or [text]
    return frozenset(tuple(words[start : start + WORDS_IN_A_ROW]) for start in _starts(len(words)))


def _starts(words: int) -> range:
    return range(max(1, words - WORDS_IN_A_ROW + 1))
