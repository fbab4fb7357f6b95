"""Filters of lists of conversations, and the cost, errors and speed of conversations and turns."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import ModelUnavailable
from baton.domain.runs.usage import Price, Prices
from tests.harness.harness import Harness
from tests.unit.api.served import Served

READ_ALL = "thread:read_all"
PRICES = Prices({"test-model": Price(input=1_000, output=2_000)})


def set_prices(prices: Prices = PRICES) -> Served:
    harness = Harness()
    harness.prices = prices
    return Served(harness)


async def find_users(served: Served, **params: Any) -> list[str]:
    """The users whose conversations an auditor finds in the tenant."""
    answer = await served.get("/threads", READ_ALL, user="auditor", scope="tenant", **params)
    assert answer.status_code == 200, answer.text
    return [thread["userId"] for thread in answer.json()["items"]]


async def test_a_turn_shows_its_model_its_cost_and_the_time_to_its_first_word() -> None:
    served = set_prices()
    await served.harness.say()
    [turn], _ = await served.items(f"/threads/{served.harness.thread_id}/turns")
    usage = turn["usage"]
    assert turn["model"] == "test-model"
    assert turn["firstTokenMs"] >= 0
    assert turn["errorCode"] is None
    assert turn["cost"] == pytest.approx((usage["inputTokens"] * 1_000 + usage["outputTokens"] * 2_000) / 1_000_000)
    thread = (await served.get(f"/threads/{served.harness.thread_id}")).json()
    assert (thread["cost"], thread["lastError"]) == (turn["cost"], None)


async def test_a_failed_turn_shows_its_error_and_its_thread_remembers_it() -> None:
    served = set_prices()
    harness = served.harness
    harness.model.script(ModelUnavailable("Down."))
    await harness.say()
    await harness.say("m2")
    later, failed = (await served.items(f"/threads/{harness.thread_id}/turns"))[0]
    assert (failed["errorCode"], failed["firstTokenMs"], failed["status"]) == ("model_unavailable", None, "error")
    assert later["errorCode"] is None
    assert (await served.get(f"/threads/{harness.thread_id}")).json()["lastError"] == "model_unavailable"
    assert await find_users(served, hasError="true") == ["ada"]
    assert await find_users(served, hasError="false") == []
    assert await find_users(served, hasFeedback="true") == []
    assert await find_users(served, hasFeedback="false") == ["ada"]


async def test_without_a_models_price_costs_are_unknown_and_cannot_be_asked_for() -> None:
    for prices in (Prices(), Prices({"another": Price(input=1, output=1)})):
        served = set_prices(prices)
        await served.harness.say()
        [turn], _ = await served.items(f"/threads/{served.harness.thread_id}/turns")
        assert turn["cost"] is None
        assert (await served.get(f"/threads/{served.harness.thread_id}")).json()["cost"] is None
        refused = await served.get("/threads", minCost=1)
        if prices:
            assert refused.json()["items"] == []
        else:
            assert refused.status_code == 422


async def test_filters_leave_out_what_does_not_meet_them() -> None:
    served = set_prices()
    await served.harness.say()
    now = served.harness.clock.now()
    everything: dict[str, Any] = {
        "agentId": "assistant",
        "userId": "ada",
        "state": "active",
        "hasError": False,
        "minTokens": 1,
        "minCost": 0.000_001,
        "from": now.isoformat(),
        "to": now.isoformat(),
    }
    assert await find_users(served, **everything) == ["ada"]
    for name, other in {
        "agentId": "x",
        "userId": "x",
        "state": "running",
        "minTokens": 10**6,
        "minCost": 10**6,
    }.items():
        assert await find_users(served, **everything | {name: other}) == []
    own = {name: value for name, value in everything.items() if name != "userId"}
    assert [thread["userId"] for thread in (await served.items("/threads", **own))[0]] == ["ada"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"userId": "ada"},
        {"from": "2026-03-14T09:00:00"},
        {"from": "0001-01-01T00:00:00+14:00"},
        {"from": "2026-03-15T00:00:00Z", "to": "2026-03-14T00:00:00Z"},
        {"minCost": "nan"},
        {"state": "asleep"},
    ],
)
async def test_a_filter_that_makes_no_sense_is_refused(wrong: dict[str, str]) -> None:
    assert (await Served().get("/threads", READ_ALL, **wrong)).status_code == 422


async def test_nobody_finds_out_what_a_title_says_without_seeing_it() -> None:
    served = Served()
    await served.harness.say()
    await served.patch(f"/threads/{served.harness.thread_id}", {"title": "Mail from eve@example.com"})
    assert await find_users(served, q="eve@example.com") == []
    answer = await served.get("/threads", READ_ALL, "pii:read", user="auditor", scope="tenant", q="eve@example.com")
    assert [item["userId"] for item in answer.json()["items"]] == ["ada"]
    assert len((await served.items("/threads", q="eve@example.com"))[0]) == 1


async def test_the_tenants_list_needs_its_permission_however_it_is_filtered() -> None:
    served = Served()
    for params in ({"userId": "ada"}, {"q": "hello"}, {"state": "active"}):
        assert (await served.get("/threads", scope="tenant", **params)).status_code == 403
