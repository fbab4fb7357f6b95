"""The overview of a tenant's conversations, page by page, computed from their messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from baton.concurrency.tasks import gather_all, gather_each
from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.runs.usage import Prices
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.overview import CountedTurn, Overview, ThreadCost
from baton.domain.threads.feedback import Rating
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import ThreadQuery
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.messages import FeedbackStore
from baton.ports.threads.threads import ThreadStore
from baton.threads.sessions.turn_listing import TurnSummary, read_turns

PAGE_THREADS = 20
"""The number of conversations in a page. A conversation with many messages continues on the next page."""
READS = 3
"""Reads of one conversation's messages after which its part of a page ends with the next whole turn."""
AT_ONCE = 8
"""The number of conversations that are read concurrently."""
ALL_TURNS = 10_000
"""More turns than the reads of messages for a page can hold, so that only the reads limit the page."""
MAX_MILLIS = to_millis(datetime.max.replace(tzinfo=UTC))
"""The latest time of a cursor."""


@dataclass(frozen=True, slots=True)
class Period:
    """The period in which the counted turns have begun."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class OverviewPosition:
    """The position of the next page: the rest of ``unfinished`` conversations, or else ``after`` in the list."""

    period: Period
    after: str | None = None
    is_listed: bool = False
    """True if the list is complete."""
    unfinished: tuple[tuple[str, int], ...] = ()
    """Ids of conversations, with the ordinals of the messages before which counting continues."""

    def encode(self) -> str:
        """Return the position as a cursor for clients."""
        return encode(
            {
                "from": to_millis(self.period.start),
                "to": to_millis(self.period.end),
                "after": self.after,
                "listed": self.is_listed,
                "rest": [list(thread_cursor) for thread_cursor in self.unfinished],
            }
        )

    @classmethod
    def decode(cls, cursor: str) -> OverviewPosition:
        """Return the position that a cursor names. Raises ``InvalidRequest``."""
        match decode(cursor):
            case {
                "from": int(start),
                "to": int(end),
                "after": str() | None as after,
                "listed": bool(is_listed),
                "rest": list(rest),
            } if 0 <= start <= end <= MAX_MILLIS and len(rest) <= PAGE_THREADS:
                period = Period(from_millis(start), from_millis(end))
                return cls(period, after, is_listed, tuple(_parse_unfinished(thread_cursor) for thread_cursor in rest))
        raise InvalidRequest("cursor was not handed out by this list.")


@dataclass(frozen=True, slots=True)
class Overviews:
    """Overviews of a tenant's conversations, counted from their turns. They are not stored."""

    store: ThreadStore
    prices: Callable[[], Prices]
    """A function that returns the current prices of models."""

    async def read_page(
        self, scope: Scope, cursor: OverviewPosition, *, feedback: FeedbackStore | None = None
    ) -> tuple[Overview, OverviewPosition | None]:
        """Return the counts of one page, and the position of the next one; None after the last.

        ``scope`` needs ``thread:read_all``. A page reads a bounded number of messages. Ratings are counted with
        ``feedback`` only.
        """
        if cursor.unfinished:
            threads = await self._read_threads(scope, cursor.unfinished)
            after, is_listed = cursor.after, cursor.is_listed
        elif cursor.is_listed:
            return Overview(), None
        else:
            # Conversations that were active later may have turns in the period too.
            page, after = await self.store.list_threads(
                scope,
                limit=PAGE_THREADS,
                cursor=cursor.after,
                whole_tenant=True,
                query=ThreadQuery(active_from=cursor.period.start),
            )
            threads, is_listed = (
                [(thread, None) for thread in page if thread.created_at <= cursor.period.end],
                after is None,
            )
        results = await gather_each(
            threads, lambda position: self._count_one(scope, *position, cursor.period, feedback), at_once=AT_ONCE
        )
        overview, unfinished = Overview(), []
        for (thread, _), (counts, rest) in zip(threads, results, strict=True):
            overview = overview.merge(counts)
            if rest is not None:
                unfinished.append((thread.id, rest))
        next_position = OverviewPosition(cursor.period, after, is_listed, tuple(unfinished))
        return overview, next_position if unfinished or not is_listed else None

    async def _read_threads(
        self, scope: Scope, unfinished: Sequence[tuple[str, int]]
    ) -> list[tuple[Thread, int | None]]:
        threads = await gather_all(*(self._find_thread(scope, thread_id) for thread_id, _ in unfinished))
        return [(thread, before) for thread, (_, before) in zip(threads, unfinished, strict=True) if thread is not None]

    async def _find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        try:
            return await self.store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return None  # deleted meanwhile

    async def _count_one(
        self, scope: Scope, thread: Thread, before: int | None, period: Period, feedback: FeedbackStore | None
    ) -> tuple[Overview, int | None]:
        """Return the counts of the thread's turns before the message ``before``, and the message to continue at.

        The latter is None at the end of the thread.
        """
        ratings = feedback if thread.has_feedback else None
        turns, rest = await read_turns(
            self.store, ratings, scope, thread, limit=ALL_TURNS, before=before, max_reads=READS
        )
        summaries = [turn for turn in turns if turn.started_at is not None]
        if summaries and summaries[-1].started_at is not None and summaries[-1].started_at < period.start:
            rest = None
        cost = self.prices().compute_cost(thread.spent, thread.usage)
        thread_cost = ThreadCost.of(thread.id, cost, thread.usage, thread.title)
        counted_turns = [
            self._make_counted_turn(thread, turn)
            for turn in summaries
            if turn.started_at is not None and period.start <= turn.started_at <= period.end
        ]
        return Overview.of_thread(thread_cost, counted_turns, is_first=before is None), rest

    def _make_counted_turn(self, thread: Thread, turn: TurnSummary) -> CountedTurn:
        assert turn.started_at is not None  # noqa: S101 - only ended turns are counted
        assert turn.ended_at is not None  # noqa: S101
        return CountedTurn(
            thread_id=thread.id,
            run_id=turn.run_id,
            agent_id=turn.agent_id or "",
            started_at=turn.started_at,
            duration_ms=max(0, (turn.ended_at - turn.started_at) // timedelta(milliseconds=1)),
            usage=turn.usage,
            cost=self.prices().compute_cost(turn.spent, turn.usage),
            error_code=turn.error_code,
            first_token_ms=turn.first_token_ms,
            began_itself=turn.opened_by is not None,
            spent=turn.spent,
            versions=turn.versions,
            ups=sum(rating.rating is Rating.UP for rating in turn.feedback),
            downs=sum(rating.rating is Rating.DOWN for rating in turn.feedback),
        )


def _parse_unfinished(entry: object) -> tuple[str, int]:
    match entry:
        case [str(thread_id), int(before)] if len(thread_id) <= 64 and 0 <= before < 10**12:
            return thread_id, before
    raise InvalidRequest("cursor was not handed out by this list.")
