"""Search over a user's own threads, by the words of their titles and beginnings."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from baton.domain.errors import InvalidRequest
from baton.domain.text import encodable
from baton.domain.thread import Thread

MAX_QUERY = 100
"""Characters of a query."""
MAX_SEARCHED = 500
"""Threads that one page of results looks at. The next page goes on from there."""


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """What is searched: every word must occur, whatever its case and accents."""

    words: tuple[str, ...]

    def matches(self, thread: Thread) -> bool:
        """Return whether title and preview have all words, or beginnings or other parts of longer words."""
        text = _searched(f"{thread.title or ''}\n{thread.preview or ''}")
        return all(word in text for word in self.words)


def thread_query(text: str) -> ThreadQuery:
    """Return the query for ``text``. Raises ``InvalidRequest`` for a blank or overlong one."""
    if len(text) > MAX_QUERY:
        raise InvalidRequest(f"q must have at most {MAX_QUERY} characters.")
    words = tuple(dict.fromkeys(_searched(text).split()))
    if not words:
        raise InvalidRequest("q must hold words: it is empty or blank.")
    return ThreadQuery(words)


def _searched(text: str) -> str:
    """Return ``text`` without differences of case, accents and width."""
    apart = unicodedata.normalize("NFKD", encodable(text).casefold())
    return unicodedata.normalize("NFKC", "".join(each for each in apart if unicodedata.category(each) != "Mn"))
