"""Passages of texts, and texts that nearly repeat another one.

A passage is a few sentences of a chunk, the length that embedding models compare best with a question. A model reads a
text of limited length (256 tokens for the local one) into a single vector, in which one sentence of a long chunk counts
little. Therefore each passage has its own vector, and a chunk with passages has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from baton.domain.documents.search_words import split_words

MAX_PASSAGES = 6
PASSAGE = 250
"""The approximate length of a passage, in characters. It ends at the end of a sentence or line."""
MIN_PASSAGE = PASSAGE // 3
"""The minimum length of the last passage, in characters. A shorter one is added to its predecessor."""
_PIECE = re.compile(r".*?(?:[.!?]\s+|[。！？]|\n+|\Z)", re.DOTALL)  # noqa: RUF001 - the punctuation of other scripts


def split_passages(text: str) -> list[str]:
    """Return the passages of a chunk's text, at most ``MAX_PASSAGES``; empty if the text fits one passage."""
    size = max(PASSAGE, -(-len(text) // MAX_PASSAGES))
    if len(text) <= size + MIN_PASSAGE:
        return []
    passages: list[str] = []
    current = ""
    for piece in _PIECE.findall(text):
        is_last = len(passages) == MAX_PASSAGES - 1
        if current and not is_last and len(current) + len(piece) / 2 > size:
            passages.append(current)
            current = ""
        current += piece
    if passages and len(current) < MIN_PASSAGE:
        passages[-1] += current
    else:
        passages.append(current)
    return passages


SHINGLE_WORDS = 5
"""The number of successive words in a shingle, by which texts are compared (Broder, 1997)."""
DUPLICATE_SHARE = 0.8
"""The share of common shingles at which a text counts as a duplicate of another."""

T = TypeVar("T")


def drop_near_duplicates(items: Sequence[T], read_text: Callable[[T], str]) -> list[T]:
    """Return the items without those whose text, by ``read_text``, is nearly that of an earlier item."""
    distinct: list[T] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    for item in items:
        shingles = _make_shingles(read_text(item))
        if not any(len(shingles & other) >= DUPLICATE_SHARE * max(len(shingles), len(other)) for other in seen):
            distinct.append(item)
            seen.append(shingles)
    return distinct


def _make_shingles(text: str) -> frozenset[tuple[str, ...]]:
    # A text without words is its own shingle, so that only an equal text is a duplicate.
    words = split_words(text.casefold()) or [text]
    starts = range(max(1, len(words) - SHINGLE_WORDS + 1))
    return frozenset(tuple(words[start : start + SHINGLE_WORDS]) for start in starts)
