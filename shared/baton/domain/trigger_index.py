"""Many triggers at once: which of a thousand a message matches, without trying each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from baton.domain.patterns import compile_pattern
from baton.domain.triggers import (
    MAX_TEXT,
    Specificity,
    is_phrase,
    loosest_pattern,
    matches,
    normalized,
    phrase_words,
    specificity,
    words_of,
)

CHUNK = 32
"""Patterns that are searched for together. Larger chunks are faster until one of them matches."""
CHUNK_MEMORY = 8 << 20
"""Bytes of the compiled patterns of a chunk."""


class TriggerIndex:
    """An index of triggers that were validated before.

    A phrase is tried only if its first word is in the message. Patterns are tried only if any of their chunk is found
    without regard to word borders. What is left is decided by ``triggers.matches``.
    """

    def __init__(self, triggers: Iterable[str]) -> None:
        self._phrases: defaultdict[str, list[str]] = defaultdict(list)
        patterns: list[str] = []
        for trigger in dict.fromkeys(triggers):
            if is_phrase(trigger):
                self._phrases[phrase_words(trigger)[0]].append(trigger)
            else:
                patterns.append(trigger)
        self._chunks = list(_chunks(patterns))

    def found(self, text: str) -> dict[str, Specificity]:
        """Return the triggers that a message matches, with how specific each is for it."""
        text = text[:MAX_TEXT]
        words, plain = words_of(text), normalized(text)
        candidates = [trigger for word in words for trigger in self._phrases.get(word, ())]
        for chunk, patterns in self._chunks:
            if chunk is None or chunk.search(plain) is not None:
                candidates += patterns
        return {trigger: specificity(trigger, text) for trigger in candidates if matches(trigger, text)}


def _chunks(patterns: Sequence[str]) -> Iterator[tuple[Any, Sequence[str]]]:
    """Yield chunks of patterns, compiled as one; None stands for a pattern that is always tried."""
    for start in range(0, len(patterns), CHUNK):
        chunk = patterns[start : start + CHUNK]
        together = _compiled(chunk)
        if together is not None or len(chunk) == 1:
            yield together, chunk
            continue
        for pattern in chunk:  # too large together, or for re2 in one expression
            yield _compiled([pattern]), [pattern]


def _compiled(patterns: Sequence[str]) -> Any:
    try:
        loose = "|".join(f"(?:{loosest_pattern(pattern)})" for pattern in patterns)
        return compile_pattern(loose, ignores_case=True, max_memory=CHUNK_MEMORY)
    except ValueError:
        return None
