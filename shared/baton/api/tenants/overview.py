"""The route of the overview of a tenant's conversations, for its administrators."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import COST, describe
from baton.api.threads.access import make_once_for_reads
from baton.api.threads.thread_filters import parse_period
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Permission
from baton.domain.tenants.overview import FIRST_TOKEN_BOUNDS_MS, DayCounts, Overview
from baton.domain.times import from_millis
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, RequestTime, Timestamp, WireModel
from baton.threads.sessions.overviews import OverviewPosition, Period

DEFAULT_DAYS = 7
"""Days of an overview without ``from``."""
MAX_CURSOR = 4096
"""Characters of a cursor."""
EPOCH = from_millis(0)
"""The earliest time of an overview."""

router = APIRouter(prefix="/v1/overview", tags=["overview"])


class TurnCounts(WireModel):
    """Counts of turns, and their tokens and cost."""

    turns: int = Field(examples=[42])
    failures: int = describe("Turns that ended with an error.", 1)
    input_tokens: int = Field(examples=[17_304])
    output_tokens: int = Field(examples=[2_436])
    cached_input_tokens: int = Field(examples=[9_216])
    cost: float | None = COST
    unpriced: int = describe("Turns of unknown cost, which `cost` does not include.", 0)

    @classmethod
    def from_record(cls, counts: DayCounts, **more: Any) -> Self:
        """Return the served form of counts."""
        return cls.of(
            counts,
            input_tokens=counts.usage.input_tokens,
            output_tokens=counts.usage.output_tokens,
            cached_input_tokens=counts.usage.cached_input_tokens,
            **more,
        )


class AgentDay(TurnCounts):
    """The turns of an agent on a day."""

    day: str = describe("The day in UTC.", "2026-03-14")
    agent_id: str | None = describe("The agent that answered last; null for turns without an answer.", "assistant")


class ErrorCount(WireModel):
    """The number of turns that ended with the error `code`."""

    code: str = Field(examples=["model_unavailable"])
    turns: int = Field(examples=[1])


class FirstTokens(WireModel):
    """A histogram of the times from messages to the first words of their answers."""

    bounds_ms: list[int] = describe(
        "Upper bounds of the counts, in milliseconds. They are the same on all pages.", [50, 100, 150]
    )
    counts: list[int] = describe("A count for each bound, and one for longer times.", [3, 12, 4, 0])


class ServedSlowTurn(WireModel):
    """The slowest turn of one of the slowest conversations."""

    thread_id: str = Field(examples=[THREAD_ID])
    title: str | None = describe("The conversation's title; null while it has none.", "Invoices of March")
    run_id: str = Field(examples=[RUN_ID])
    duration_ms: int = Field(examples=[48_211])


class CostlyThread(WireModel):
    """One of the costliest conversations, with its cost and tokens since it began."""

    thread_id: str = Field(examples=[THREAD_ID])
    title: str | None = describe("The conversation's title; null while it has none.", "Invoices of March")
    cost: float | None = COST
    total_tokens: int = Field(examples=[104_212])


class ServedOverview(WireModel):
    """Counts of the turns of one page of conversations. The counts of several pages can be added."""

    period_start: Timestamp = Field(serialization_alias="from", examples=[TIMESTAMP])
    period_end: Timestamp = Field(serialization_alias="to", examples=[TIMESTAMP])
    threads: int = describe("Conversations that were not on an earlier page.", 20)
    days: list[AgentDay]
    errors: list[ErrorCount]
    first_tokens: FirstTokens
    slowest: list[ServedSlowTurn] = describe("At most ten, one of each conversation.")
    costliest: list[CostlyThread] = describe(
        "At most ten conversations with turns in the period, ordered by tokens if the cost is unknown."
    )
    self_started: TurnCounts = describe(
        "The turns of `days` that schedules, events and results of tasks began, and not users."
    )
    next_cursor: str | None = describe("The `cursor` of further conversations; null if all are counted.", None)

    @classmethod
    def from_record(cls, counts: Overview, counted: Period, next_cursor: str | None) -> ServedOverview:
        """Return the served form of one page's counts."""
        return cls.of(
            counts,
            period_start=counted.start,
            period_end=counted.end,
            days=[
                AgentDay.from_record(day_counts, day=day, agent_id=agent_id or None)
                for (day, agent_id), day_counts in sorted(counts.days.items())
            ],
            errors=[ErrorCount(code=code, turns=number) for code, number in sorted(counts.errors.items())],
            first_tokens=FirstTokens(bounds_ms=list(FIRST_TOKEN_BOUNDS_MS), counts=list(counts.first_tokens)),
            self_started=TurnCounts.from_record(counts.self_started),
            next_cursor=next_cursor,
        )


@router.get("", summary="Overview of the tenant's conversations", responses=responses("forbidden"))
async def get_overview(
    caller: Caller,
    app: UseCases,
    start: Annotated[
        RequestTime | None, query("Turns that began at or after; default: seven days before `to`.", alias="from")
    ] = None,
    end: Annotated[RequestTime | None, query("Turns that began at or before; default: now.", alias="to")] = None,
    cursor: Annotated[
        str | None, query("`nextCursor` of the previous page, whose period it keeps.", max_length=MAX_CURSOR)
    ] = None,
) -> ServedOverview:
    """Return counts of turns, failures, tokens, costs and times to first words, of one page of conversations.

    The conversations with the latest activity come first. Add up as many pages as you need. Needs `thread:read_all`; it
    is audited, once for all its pages. Titles are redacted without `pii:read`.
    """
    caller.require(Permission.THREAD_READ_ALL, "overview.read")
    start, end = parse_period(start, end)
    if cursor is not None:
        position = OverviewPosition.decode(cursor)
    else:
        until = end or app.ports.clock.now()
        position = OverviewPosition(Period(start or max(EPOCH, until - timedelta(days=DEFAULT_DAYS)), until))
        if position.period.start > position.period.end:
            raise InvalidRequest("from must not be after to. Without to, from must not be in the future.")
    detail = {"from": position.period.start.isoformat(), "to": position.period.end.isoformat()}
    once = make_once_for_reads(caller, f"overview {detail}", app.ports.clock.now())
    await app.ports.audit.record(caller, "overview.read", thread_id=None, outcome="allowed", detail=detail, once=once)
    counts, following = await app.sessions.overviews.read_page(caller, position)
    served = ServedOverview.from_record(counts, position.period, following.encode() if following is not None else None)
    if caller.has(Permission.PII_READ):
        return served
    redact = app.privacy.readers.redact
    redacted = {"slowest": await redact(served.slowest), "costliest": await redact(served.costliest)}
    return served.model_copy(update=redacted)
