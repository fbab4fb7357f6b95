"""Passages of a chunk: the few sentences that embedding models compare with a question best.

A model reads a text of limited length (256 tokens for the local one) into a single vector, in which one sentence of a
long chunk counts little or nothing. So each passage has its own vector, and a chunk with passages has none.
"""

from __future__ import annotations

import re

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
