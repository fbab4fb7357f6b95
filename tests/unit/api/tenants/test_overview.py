"""The overview counts a tenant's turns page by page, for administrators only."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import ModelUnavailable
from baton.domain.runs.usage import Price, Prices
from baton.domain.tenants.identity import Scope
from baton.threads.sessions import overviews
from tests.harness.due import DueHarness
from tests.harness.harness import Harness
from tests.unit.api.served import Served

READ_ALL = "thread:read_all"


@pytest.fixture
def served() -> Served:
    harness = Harness()
    harness.prices = Prices({"test-model": Price(input=1_000, output=1_000)})
    return Served(harness)


async def pages(served: Served, **params: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        more = {"cursor": cursor} if cursor else params
        answer = await served.get("/overview", READ_ALL, user="auditor", **more)
        assert answer.status_code == 200, answer.text
        results.append(answer.json())
        cursor = results[-1]["nextCursor"]
    return results


async def test_every_turn_is_counted_once_whatever_the_pages(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = served.harness
    bob = Scope("acme", "bob")
    for number in range(6):
        thread_id = str(uuid.uuid4())
        for turn in range(number + 1):
            if turn == 3:
                harness.model.script(ModelUnavailable("Down."))
            await harness.say(f"m{turn}", scope=bob if number % 2 else None, thread_id=thread_id)
        harness.clock.advance(3_600)
    await harness.say("else", scope=Scope("other", "eve"), thread_id=str(uuid.uuid4()))
    monkeypatch.setattr(overviews, "PAGE_THREADS", 2)
    monkeypatch.setattr(overviews, "READS", 0)
    result = await pages(served)
    assert len(result) > 3
    turns: Counter[str] = Counter()
    for page in result:
        for day in page["days"]:
            for name in ("turns", "failures", "inputTokens", "unpriced"):
                turns[name] += day[name]
            turns["cost"] += round(day["cost"] * 1_000_000)
    assert turns["turns"] == 21
    assert turns["failures"] == 3
    assert sum(page["threads"] for page in result) == 6
    assert sum(error["turns"] for page in result for error in page["errors"]) == 3
    assert sum(sum(page["firstTokens"]["counts"]) for page in result) == 18
    assert turns["cost"] == 18 * 12 * 1_000
    assert turns["unpriced"] == 0
    assert len({item["threadId"] for page in result for item in page["costliest"]}) == 6


async def test_conversations_are_listed_by_the_titles_that_they_have(served: Served) -> None:
    harness = served.harness
    await harness.say("m1")
    thread_id = harness.thread_id
    await harness.app.sessions.titles.rename(harness.ada, thread_id, "Invoices")
    await harness.say("m2", thread_id=str(uuid.uuid4()))
    [page] = await pages(served)
    for listed in (page["slowest"], page["costliest"]):
        titles = {item["threadId"]: item["title"] for item in listed}
        assert len(titles) == 2
        assert titles[thread_id] == "Invoices"


async def test_only_turns_of_the_period_are_counted(served: Served) -> None:
    harness = served.harness
    await harness.say("m1")
    harness.clock.advance(10 * 24 * 3_600)
    between = harness.clock.now()
    harness.clock.advance(3_600)
    await harness.say("m2")
    [usual] = await pages(served)
    assert [day["turns"] for day in usual["days"]] == [1]
    [before] = await pages(served, **{"from": (between - timedelta(days=30)).isoformat(), "to": between.isoformat()})
    assert [day["turns"] for day in before["days"]] == [1]
    [both] = await pages(served, **{"from": (between - timedelta(days=30)).isoformat()})
    assert [day["turns"] for day in both["days"]] == [1, 1]
    assert both["threads"] == 1


async def test_an_empty_tenant_has_an_empty_overview(served: Served) -> None:
    [page] = await pages(served)
    assert (page["threads"], page["days"], page["errors"], page["slowest"]) == (0, [], [], [])
    assert len(page["firstTokens"]["counts"]) == len(page["firstTokens"]["boundsMs"]) + 1


async def test_the_overview_needs_a_permission_and_is_audited_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await served.get("/overview")).status_code == 403
    monkeypatch.setattr(overviews, "PAGE_THREADS", 1)
    for _ in range(3):
        await served.harness.say(thread_id=str(uuid.uuid4()))
    served.harness.audit.records.clear()
    assert len(await pages(served)) == 3
    [record] = served.harness.audit.records
    assert (record.scope.user_id, record.action, record.outcome) == ("auditor", "overview.read", "allowed")


async def test_a_cursor_of_another_tenant_shows_nothing_of_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "READS", 0)
    for number in range(3):
        await served.harness.say(f"m{number}")
    first = (await served.get("/overview", READ_ALL, user="auditor")).json()
    assert first["nextCursor"]
    location = overviews.OverviewPosition.decode(first["nextCursor"])
    assert [thread_id for thread_id, _ in location.unfinished] == [served.harness.thread_id]
    counts, following = await served.harness.app.sessions.overviews.read_page(
        Scope("other", "eve", frozenset({READ_ALL})),
        overviews.OverviewPosition(location.period, unfinished=location.unfinished),
    )
    assert counts.threads == 0
    assert not counts.days
    assert following is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"cursor": "x"},
        {"cursor": "eyJmcm9tIjogMX0"},
        {"from": "2026-03-14"},
        {"to": "0001-01-01T00:00:00+14:00"},
        {"from": "2999-01-01T00:00:00Z"},
    ],
)
async def test_what_makes_no_sense_is_refused(served: Served, wrong: dict[str, str]) -> None:
    assert (await served.get("/overview", READ_ALL, **wrong)).status_code == 422


async def test_turns_that_begin_by_themselves_are_counted_apart_with_their_cost() -> None:
    due = DueHarness(prices=Prices({"test-model": Price(input=1_000, output=1_000)}))
    served = Served(due)
    await due.say()
    await due.remind()
    await due.pass_time(hours=1)
    [page] = await pages(served)
    [day], own = page["days"], page["selfStarted"]
    assert (day["turns"], own["turns"]) == (2, 1)
    assert 0 < own["cost"] < day["cost"]
    reminded, message = (await served.items(f"/threads/{due.thread_id}/turns"))[0]
    assert (reminded["openedBy"], "openedBy" in message) == ("schedule", False)
