"""Passages of texts, and texts that nearly repeat another one.

Passages are the few sentences of a chunk that embedding models compare with a question best.

A model reads a text of limited length (256 tokens for the local one) into a single vector, in which one sentence of a
long chunk counts little or nothing. So each passage has its own vector, and a chunk with passages has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from baton.domain.documents.search_words import split_words

MAX_PASSAGES = 6
PASSAGE = 250
"""Characters of a passage, more or less: it ends at the end of a sentence or line."""
SHORTEST = PASSAGE // 3
"""A rest that is shorter belongs to the passage before it."""
_PIECE = re.compile(r".*?(?:[.!?]\s+|[。！？]|\n+|\Z)", re.DOTALL)  # noqa: RUF001 - the punctuation of other scripts


def split_passages(text: str) -> list[str]:
    """Return the passages of a chunk's text, at most ``MAX_PASSAGES``; none if it is not longer than one."""
    size = max(PASSAGE, -(-len(text) // MAX_PASSAGES))
    if len(text) <= size + SHORTEST:
        return []
    passages: list[str] = []
    current = ""
    for piece in _PIECE.findall(text):
        is_last = len(passages) == MAX_PASSAGES - 1
        if current and not is_last and len(current) + len(piece) / 2 > size:
            passages.append(current)
            current = ""
        current += piece
    if passages and len(current) < SHORTEST:
        passages[-1] += current
    else:
        passages.append(current)
    return passages


WORDS_IN_A_ROW = 5
SHARED = 0.8
"""The share of a text's rows of words from which on it is a duplicate of another one."""

T = TypeVar("T")


def drop_near_duplicates(items: Sequence[T], text: Callable[[T], str]) -> list[T]:
    """Return the items without those whose text is nearly that of an earlier one."""
    passages: list[T] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    for item in items:
        rows = _rows(text(item))
        if not any(len(rows & other) >= SHARED * max(len(rows), len(other)) for other in seen):
            passages.append(item)
            seen.append(rows)
    return passages


def _rows(text: str) -> frozenset[tuple[str, ...]]:
    # A text without words is its own row: only an equal one is a duplicate.
    words = split_words(text.casefold()) or [text]
    starts = range(max(1, len(words) - WORDS_IN_A_ROW + 1))
    return frozenset(tuple(words[start : start + WORDS_IN_A_ROW]) for start in starts)
