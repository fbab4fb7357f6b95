"""Exact terms of a question: the codes, numbers and names that an answer must have as they are written.

If only one chunk has such a term, the question is about this chunk, even if its other words differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from baton.domain.documents.search_words import find_words, split_words, to_search_form
from baton.domain.text import MAX_CODES, find_codes

MIN_DIGITS = 3
"""The minimum digits of an exact number without letters. Shorter numbers are mostly counts and dates."""
MIN_NAME_LETTERS = 3
"""The minimum letters of a name."""
MIN_LONG_DIGITS = 5
"""The minimum digits of a number that identifies one thing, such as a contract. Years and prices are shorter."""
MAX_BARE_WORDS = 4
"""The maximum words of a query that consists of a code, a number or a name."""
MAX_HOLDERS = 3
"""The maximum number of texts with such a query. If more texts have it, it identifies none."""
_BEGINNING = re.compile(r"(?:\A|[.!?:]\s)\W*\Z")


def find_exact_terms(query: str) -> list[str]:
    """Return the distinct exact terms of a query in the form of ``to_search_form``, codes first, at most ``MAX_CODES``.

    Exact terms are codes of several parts (``PN-173``), words with digits (``B1``, ``12a``), numbers, and capitalised
    words that do not begin a sentence.
    """
    codes = find_codes(to_search_form(query))
    parts = {part for code in codes for part in split_words(code)}
    words = (to_search_form(word) for word, at in find_words(query) if _is_exact(word, query[max(0, at - 4) : at]))
    terms = [*codes, *(word for word in words if word not in parts)]
    return list(dict.fromkeys(terms))[:MAX_CODES]


def find_lone_terms(query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each text the exact terms of a query that no other text has."""
    terms = find_exact_terms(query)
    lone_terms: list[list[str]] = [[] for _ in texts]
    word_lines = [_join_words(text) for text in texts] if terms else []
    for term in terms:
        term_words = _join_words(term)
        holders = [index for index, line in enumerate(word_lines) if term_words in line]
        if len(holders) == 1:
            lone_terms[holders[0]].append(term)
    return [tuple(terms) for terms in lone_terms]


def find_whole_matches(query: str, texts: Sequence[str]) -> frozenset[int]:
    """Return the indices of the texts that contain a short query word for word, in upper or lower case.

    The result is empty for a query of more than ``MAX_BARE_WORDS``, or if more than ``MAX_HOLDERS`` texts contain it.
    """
    words = split_words(to_search_form(query))
    if not 0 < len(words) <= MAX_BARE_WORDS:
        return frozenset()
    query_words = f" {' '.join(words)} "
    holders = frozenset(index for index, text in enumerate(texts) if query_words in _join_words(text))
    return holders if len(holders) <= MAX_HOLDERS else frozenset()


def is_long_number(term: str) -> bool:
    """Return whether a term, such as ``020-555-0142``, has ``MIN_LONG_DIGITS``."""
    return sum(map(str.isdigit, term)) >= MIN_LONG_DIGITS


def has_term(text: str, terms: Sequence[str]) -> bool:
    """Return whether a text has one of the terms, even with other punctuation in it, such as a long dash."""
    words = _join_words(text)
    return any(_join_words(term) in words for term in terms)


def _join_words(text: str) -> str:
    """Return a text's words in one line, with spaces before, between and after them."""
    return f" {' '.join(split_words(to_search_form(text)))} "


def _is_exact(word: str, before: str) -> bool:
    """Return whether a word is an exact term. ``before`` is the text in front of it, which may end a sentence."""
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word)) or len(word) >= MIN_DIGITS
    return word[0].isupper() and len(word) >= MIN_NAME_LETTERS and _BEGINNING.search(before) is None
