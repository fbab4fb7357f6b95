"""Exact terms of a question: the codes, numbers and names that an answer must have as they are written.

A chunk that alone has one of them is meant, however little its other words resemble the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from baton.domain.text import MAX_CODES, codes_of

MIN_DIGITS = 3
"""Digits of a number without letters. Shorter ones count and date things of all kinds."""
MIN_NAME = 3
"""Letters of a name."""
_WORD = re.compile(r"\w+")
_BEGINNING = re.compile(r"(?:\A|[.!?:]\s)\W*\Z")


def find_exact_terms(query: str) -> list[str]:
    """Return the exact terms of a query in the order of the text, each once.

    They are codes of several parts (``PN-173``), words with digits (``B1``, ``12a``), numbers, and words with a capital
    letter that does not begin a sentence.
    """
    codes = codes_of(query)
    parts = {part for code in codes for part in _WORD.findall(code)}
    words = (match[0] for match in _WORD.finditer(query) if _is_exact(match, query))
    terms = [*codes, *(word for word in words if word.lower() not in parts)]
    return list(dict.fromkeys(map(_fold, terms)))[:MAX_CODES]


def find_lone_terms(query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each text the exact terms of a query that it alone has."""
    terms = find_exact_terms(query)
    alone: list[list[str]] = [[] for _ in texts]
    folded = [_fold(text) for text in texts] if terms else []
    for term in terms:
        pattern = _pattern(term)
        holders = [place for place, text in enumerate(folded) if pattern.search(text)]
        if len(holders) == 1:
            alone[holders[0]].append(term)
    return [tuple(each) for each in alone]


def has_term(text: str, terms: Sequence[str]) -> bool:
    """Return whether a text has one of the terms."""
    folded = _fold(text)
    return any(_pattern(term).search(folded) for term in terms)


def _pattern(term: str) -> re.Pattern[str]:
    """Return the pattern of a term in a folded text. The marks between its parts may be others, such as a long dash."""
    return re.compile(r"(?<!\w)" + r"\W{1,3}".join(map(re.escape, _WORD.findall(term))) + r"(?!\w)")


def _is_exact(match: re.Match[str], query: str) -> bool:
    word = match[0]
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word)) or len(word) >= MIN_DIGITS
    is_name = word[0].isupper() and len(word) >= MIN_NAME
    return is_name and _BEGINNING.search(query[max(0, match.start() - 4) : match.start()]) is None


def _fold(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in parts if not unicodedata.combining(each))
