"""Exact terms of a question: the codes, numbers and names that an answer must have as they are written.

A chunk that alone has one of them is meant, however little its other words resemble the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from baton.domain.documents.search_words import find_words, search_form, split_words
from baton.domain.text import MAX_CODES, codes_of

MIN_DIGITS = 3
"""Digits of a number without letters. Shorter ones count and date things of all kinds."""
MIN_NAME = 3
"""Letters of a name."""
MIN_LONG_DIGITS = 5
"""Digits of a number that stands for one thing: of a contract, a telephone, a part. Years and prices are shorter."""
MAX_BARE_WORDS = 4
"""Words of a query that is nothing but a code, a number or a name."""
MAX_HOLDERS = 3
"""Texts that may have all words of such a query. Words of more texts say little."""
_BEGINNING = re.compile(r"(?:\A|[.!?:]\s)\W*\Z")


def find_exact_terms(query: str) -> list[str]:
    """Return the exact terms of a query each once and in the form of searches, first the codes.

    They are codes of several parts (``PN-173``), words with digits (``B1``, ``12a``), numbers, and words with a capital
    letter that does not begin a sentence.
    """
    codes = codes_of(search_form(query))
    parts = {part for code in codes for part in split_words(code)}
    words = (search_form(word) for word, at in find_words(query) if _is_exact(word, query[max(0, at - 4) : at]))
    terms = [*codes, *(word for word in words if word not in parts)]
    return list(dict.fromkeys(terms))[:MAX_CODES]


def find_lone_terms(query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each text the exact terms of a query that it alone has."""
    terms = find_exact_terms(query)
    alone: list[list[str]] = [[] for _ in texts]
    rows = [_row(text) for text in texts] if terms else []
    for term in terms:
        sought = _row(term)
        holders = [index for index, row in enumerate(rows) if sought in row]
        if len(holders) == 1:
            alone[holders[0]].append(term)
    return [tuple(terms) for terms in alone]


def find_whole_matches(query: str, texts: Sequence[str]) -> frozenset[int]:
    """Return the places of the few texts that have a short query as it is, in whatever script and case it is typed."""
    words = split_words(search_form(query))
    if not 0 < len(words) <= MAX_BARE_WORDS:
        return frozenset()
    sought = f" {' '.join(words)} "
    holders = frozenset(index for index, text in enumerate(texts) if sought in _row(text))
    return holders if len(holders) <= MAX_HOLDERS else frozenset()


def is_long_number(term: str) -> bool:
    """Return whether a term, such as ``020-555-0142``, has the digits of a number that stands for one thing."""
    return sum(map(str.isdigit, term)) >= MIN_LONG_DIGITS


def has_term(text: str, terms: Sequence[str]) -> bool:
    """Return whether a text has one of the terms. The marks between its parts may be others, such as a long dash."""
    row = _row(text)
    return any(_row(term) in row for term in terms)


def _row(text: str) -> str:
    """Return a text's words with a space before and behind each."""
    return f" {' '.join(split_words(search_form(text)))} "


def _is_exact(word: str, before: str) -> bool:
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word)) or len(word) >= MIN_DIGITS
    return word[0].isupper() and len(word) >= MIN_NAME and _BEGINNING.search(before) is None
