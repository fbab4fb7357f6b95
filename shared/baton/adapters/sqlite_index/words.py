"""The words of texts and queries, as the full-text tables take them."""

from __future__ import annotations

from baton.domain.documents.search_words import index_words, search_form
from baton.domain.text import codes_of

MAX_TERMS = 100
"""Words of a query that are searched. Those after them are ignored."""

TOKENIZER = "porter unicode61 remove_diacritics 0 categories 'L* M* N* Co'"
"""Stems of English words. Everything else that matters has been done to the words before, in every script."""
WORDS_VERSION = 2
"""Counted up when texts are divided into other words, or these are written otherwise: the tables are made again."""

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


def indexed_words(text: str) -> str:
    """Return a text as it is given to the full-text table."""
    return " ".join(index_words(text))


def match_expression(query: str) -> str | None:
    """Return the expression that finds documents with any of the query's words; None if it has no words.

    Words are quoted, so that operators are words too. Codes are phrases besides.
    """
    words = list(dict.fromkeys(index_words(query)))
    telling = [word for word in words if word not in STOP_WORDS] or words
    codes = [indexed_words(code) for code in codes_of(search_form(query))]
    return " OR ".join(f'"{term}"' for term in (*telling[:MAX_TERMS], *codes)) or None
