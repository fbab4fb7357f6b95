"""Search over threads: by words of their titles and previews, and by their states, errors, usage and times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from baton.domain.documents.search_words import to_search_form
from baton.domain.errors import InvalidRequest
from baton.domain.runs.usage import NO_PRICES, Prices
from baton.domain.threads.thread import Thread

MAX_QUERY = 100
"""Characters of a query."""
MAX_SEARCHED = 500
"""Threads that are searched for one page of results. The next page continues after them."""


class ThreadState(StrEnum):
    """A state by which threads are filtered. A thread may be in several states at once."""

    ACTIVE = "active"
    CLOSED = "closed"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """Its run's worker has died, and no other worker has taken the run over."""
    WAITING = "waiting"
    """The thread waits for an approval, or for a result of the client's tools."""

    def is_of(self, thread: Thread) -> bool:
        """Return whether ``thread`` is in the state."""
        match self:
            case ThreadState.RUNNING:
                return thread.run is not None and not thread.is_interrupted
            case ThreadState.INTERRUPTED:
                return thread.is_interrupted
            case ThreadState.WAITING:
                return bool(thread.open_interrupts)
            case _:
                return thread.status.value == self.value


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """Conditions of the threads to find. All given conditions must hold."""

    words: tuple[str, ...] = ()
    """Every word must occur, whatever its case and accents."""
    in_titles: bool = True
    """Whether titles are searched. Unlike previews, they may contain personal data that users wrote."""
    agent_id: str | None = None
    """The main agent, or the agent that answers next."""
    state: ThreadState | None = None
    has_error: bool | None = None
    """Whether a run has ended with an error."""
    has_feedback: bool | None = None
    """Whether an answer was ever rated. A rating that was withdrawn counts."""
    min_tokens: int = 0
    min_cost: float = 0.0
    """The least cost. The cost of a thread counts as 0 if it is not known."""
    active_from: datetime | None = None
    """The earliest time of the last activity."""
    active_to: datetime | None = None
    """The latest time of the last activity."""
    prices: Prices = NO_PRICES

    def matches(self, thread: Thread) -> bool:
        """Return whether all conditions hold for ``thread``."""
        return (
            (self.active_from is None or thread.last_activity_at >= self.active_from)
            and (self.active_to is None or thread.last_activity_at <= self.active_to)
            and (self.agent_id is None or self.agent_id in (thread.agent_id, thread.active_agent_id))
            and (self.state is None or self.state.is_of(thread))
            and (self.has_error is None or self.has_error == (thread.last_error is not None))
            and (self.has_feedback is None or self.has_feedback == thread.has_feedback)
            and thread.usage.total_tokens >= self.min_tokens
            and (not self.min_cost or (self.prices.compute_cost(thread.spent, thread.usage) or 0.0) >= self.min_cost)
            and self._has_words(thread)
        )

    @property
    def is_of_time_only(self) -> bool:
        """Whether the query has no condition except the period of activity."""
        return self == ThreadQuery(
            active_from=self.active_from, active_to=self.active_to, prices=self.prices, in_titles=self.in_titles
        )

    def _has_words(self, thread: Thread) -> bool:
        """Return whether title and preview contain all words, even as parts of longer words."""
        if not self.words:
            return True
        title = (thread.title or "") if self.in_titles else ""
        text = to_search_form(f"{title}\n{thread.preview or ''}")
        return all(word in text for word in self.words)


def parse_thread_query(text: str) -> ThreadQuery:
    """Return the query for the words of ``text``. Raises ``InvalidRequest`` if it is blank or too long."""
    if len(text) > MAX_QUERY:
        raise InvalidRequest(f"q must have at most {MAX_QUERY} characters.")
    words = tuple(dict.fromkeys(to_search_form(text).split()))
    if not words:
        raise InvalidRequest("q must hold words: it is empty or blank.")
    return ThreadQuery(words)
