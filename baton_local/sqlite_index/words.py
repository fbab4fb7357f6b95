"""The words of texts and queries, as the full-text tables take them."""

from __future__ import annotations

import re

from baton.domain.text import codes_of, encodable

MAX_TERMS = 100
"""Words of a query that are searched. Those after them are ignored."""

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""Stems of English words; case and accents do not matter."""

# Question words are in it, because an answer does not repeat them.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by can could did do does
    doing don down during each few for from further had has have having he her here hers him his how i if in into is it
    its just ll me might more most must my no nor not now of off on once only or other our ours out over own re s same
    shall she should so some such t than that the their theirs them then there these they this those through to too
    under until up us ve very was we were what when where which while who whom whose why will with would you your yours
    """.split()  # noqa: SIM905 - a list of literals would take forty lines
)

# Scripts without spaces between words: Han, Hiragana and Katakana. Each of their signs counts as a word.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
_WORD = re.compile(r"\w+")


def indexed_words(text: str) -> str:
    """Return a text as it is given to the full-text table."""
    return _UNSPACED.sub(r" \1 ", _storable(text))


def match_expression(query: str) -> str | None:
    """Return the expression that finds documents with any of the query's words; None if it has no words.

    Words are quoted, so that operators and column names are words too. Codes are phrases besides.
    """
    query = _UNSPACED.sub(r" \1 ", _storable(query))
    words = dict.fromkeys(_WORD.findall(query.lower()))
    telling = [word for word in words if word not in STOP_WORDS] or list(words)
    codes = [code.replace('"', " ") for code in codes_of(query)]
    return " OR ".join(f'"{term}"' for term in (*telling[:MAX_TERMS], *codes)) or None


def _storable(text: str) -> str:
    # SQLite's texts end at a NUL, and lone surrogates have no UTF-8 form.
    return encodable(text).replace("\0", " ")
