"""Names that a tool's result brought into the conversation, such as that of a customer whom the user knew by a number.

No argument of a call holds them, and not every detector of personal data knows names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MAX_RESULT: Final = 50_000
"""Characters of a result whose words are known."""
_WORD: Final = re.compile(r"[^\W\d_][\w'\u2019&-]*")
_PIECE: Final = re.compile(rf"{_WORD.pattern}|[.!?:\n]|[^\s\w]|\d+")
_ENDS: Final = frozenset(".!?:\n")


def result_names(said: Iterable[str], results: Iterable[str]) -> Iterator[str]:
    """Yield the names in what was said that results of tools hold, too: words with a capital, one after the other.

    A single word at the beginning of a sentence is none, because any word has a capital there.
    """
    known = {word for result in results for word in _WORD.findall(result[:MAX_RESULT]) if word[0].isupper()}
    for text in said if known else ():
        for words, begins_sentence in _runs(text, known):
            if len(words) > 1 or not begins_sentence:
                yield " ".join(words)
            if begins_sentence and len(words) > 1:  # its first word may be no part of the name
                yield " ".join(words[1:])


def _runs(text: str, known: set[str]) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield the runs of known words, and whether each begins a sentence."""
    run: list[str] = []
    begins, is_begin = False, True
    for piece in _PIECE.findall(text):
        if piece in known:
            begins = begins if run else is_begin
            run.append(piece)
        elif run:
            yield run, begins
            run = []
        is_begin = piece in _ENDS
    if run:
        yield run, begins
