"""Parsing of the filters of lists of conversations, and of periods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends

from baton.api.http.dependencies import query
from baton.domain.errors import InvalidRequest
from baton.domain.runs.usage import Prices
from baton.domain.threads.thread_search import ThreadQuery, ThreadState, parse_thread_query
from baton.domain.times import from_millis
from baton.domain.wire_model import TIMESTAMP, RequestTime

MAX_TOKENS = 10**15
"""The largest number that ``minTokens`` may name."""
MAX_COST = 10.0**12
"""The largest cost that ``minCost`` may name."""

From = Annotated[RequestTime | None, query("Last activity at or after this time.", TIMESTAMP, alias="from")]
To = Annotated[RequestTime | None, query("Last activity at or before this time.", TIMESTAMP, alias="to")]


@dataclass(frozen=True, slots=True)
class ThreadFilters:
    """The filters of a list of conversations."""

    user_id: str | None
    without_words: ThreadQuery
    """All conditions except the words of a search."""

    def make_query(self, words: str | None, prices: Prices, *, in_titles: bool) -> ThreadQuery | None:
        """Return all conditions, with the words of a search; None without any. Raises ``InvalidRequest``.

        ``in_titles`` says that the words are searched in titles too.
        """
        if self.without_words.min_cost and not prices:
            raise InvalidRequest(
                "minCost: this deployment has no prices (modelPrices of the settings), so no cost is known."
            )
        text_words = parse_thread_query(words).words if words is not None else ()
        query = replace(self.without_words, words=text_words)
        return replace(query, prices=prices, in_titles=in_titles) if query != ThreadQuery() else None


async def parse_thread_filters(
    user_id: Annotated[
        str | None,
        query(
            "With `scope=tenant`: only this user's conversations.",
            "alice",
            alias="userId",
            min_length=1,
            max_length=256,
        ),
    ] = None,
    agent_id: Annotated[
        str | None,
        query(
            "Only those with this main agent, or with this agent as the active one.",
            "assistant",
            alias="agentId",
            min_length=1,
            max_length=64,
        ),
    ] = None,
    state: Annotated[ThreadState | None, query("Only those in this state.", "waiting")] = None,
    has_error: Annotated[
        bool | None,
        query(
            "`true`: only those in which a turn has failed; `false`: only those without a failed turn.",
            alias="hasError",
        ),
    ] = None,
    has_feedback: Annotated[
        bool | None,
        query(
            "`true`: only those with a rated answer; `false`: only those without. A withdrawn rating counts as one.",
            alias="hasFeedback",
        ),
    ] = None,
    min_tokens: Annotated[
        int, query("Only those that used at least this many tokens.", alias="minTokens", ge=0, le=MAX_TOKENS)
    ] = 0,
    min_cost: Annotated[
        float,
        query(
            "Only those that cost at least this much, in the currency of the setting `modelPrices`, which is required.",
            alias="minCost",
            ge=0,
            le=MAX_COST,
            allow_inf_nan=False,
        ),
    ] = 0.0,
    active_from: From = None,
    active_to: To = None,
) -> ThreadFilters:
    """Return the filters of a request. Raises ``InvalidRequest``."""
    start, end = parse_period(active_from, active_to)
    without_words = ThreadQuery(
        agent_id=agent_id,
        state=state,
        has_error=has_error,
        has_feedback=has_feedback,
        min_tokens=min_tokens,
        min_cost=min_cost,
        active_from=start,
        active_to=end,
    )
    return ThreadFilters(user_id, without_words)


def parse_period(start: datetime | None, end: datetime | None) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of a period in UTC; None where the period is open.

    Raises ``InvalidRequest`` if the start is after the end, or if one of them is before 1970.
    """
    start, end = _to_utc("from", start), _to_utc("to", end)
    if start is not None and end is not None and start > end:
        raise InvalidRequest("from must not be after to.")
    return start, end


def _to_utc(name: str, moment: datetime | None) -> datetime | None:
    try:
        at = moment.astimezone(UTC) if moment is not None else None
    except OverflowError:
        at = datetime.min.replace(tzinfo=UTC)
    if at is not None and at < from_millis(0):
        raise InvalidRequest(f"{name} must be a time since 1970.")
    return at


Filters = Annotated[ThreadFilters, Depends(parse_thread_filters)]
