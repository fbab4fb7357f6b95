"""The words of texts and queries in the form of the full-text tables."""

from __future__ import annotations

from baton.domain.documents.search_words import index_words, to_search_form
from baton.domain.text import find_codes

MAX_TERMS = 100
"""The number of a query's words that are searched. Further words are ignored."""

TOKENIZER = "porter unicode61 remove_diacritics 0 categories 'L* M* N* Co'"
"""The tokenizer, which only makes stems of English words. ``index_words`` has divided and normalised the text."""
WORDS_VERSION = 2
"""The version of the rules by which texts become words. Increment it if a rule changes: files rebuild their tables."""

# Question words are stop words too, because an answer does not repeat them.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by can could did do does
    doing don down during each few for from further had has have having he her here hers him his how i if in into is it
    its just ll me might more most must my no nor not now of off on once only or other our ours out over own re s same
    shall she should so some such t than that the their theirs them then there these they this those through to too
    under until up us ve very was we were what when where which while who whom whose why will with would you your yours
    """.split()  # noqa: SIM905 - a list of literals would take forty lines
)


def to_indexed_text(text: str) -> str:
    """Return a text in the form of the full-text tables: its words with spaces between them."""
    return " ".join(index_words(text))


def make_match_expression(query: str) -> str | None:
    """Return the FTS5 expression that finds documents with any of the query's words; None if it has no words.

    Words are quoted, so that operators count as words. Codes, such as numbers of orders, are searched as phrases too.
    """
    words = list(dict.fromkeys(index_words(query)))
    search_terms = [word for word in words if word not in STOP_WORDS] or words
    codes = [to_indexed_text(code) for code in find_codes(to_search_form(query))]
    return " OR ".join(f'"{term}"' for term in (*search_terms[:MAX_TERMS], *codes)) or None
