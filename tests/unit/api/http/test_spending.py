"""Models cost a tenant no more than its spending limits allow, and users learn when they are reset."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from baton.domain.metrics import Metric, collect_counts
from baton.domain.runs.usage import Price, Prices, Usage
from baton.domain.tenants.spending import Account, AccountKind, SpendingPeriod
from baton.domain.tenants.spending_rules import AtLimit, SpendingLimit, SpendingRules, UnknownPrices
from baton.domain.tenants.tenant_limits import DeploymentLimits
from tests.fakes.chat_model import Answer
from tests.harness.desks import DeskHarness
from tests.harness.harness import Harness
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

A_TOKEN = 1_000_000.0
"""The price of a million tokens at which one token costs 1."""
TENANT = Account(AccountKind.TENANT)


def limit_spending(spending: SpendingRules, *, prices: Prices | None = None, tokens: int = 10) -> Harness:
    """Return a harness whose answers have cost ``tokens``, at 1 a token."""
    prices = prices if prices is not None else Prices({"test-model": Price(input=A_TOKEN, output=A_TOKEN)})
    harness = Harness(prices=prices)
    harness.deployment_limits = DeploymentLimits(spending=spending)
    harness.model.otherwise = Answer(("Hello there.",), usage=Usage(tokens // 2, tokens - tokens // 2))
    return harness


def per_day(amount: float, **rules: Any) -> SpendingRules:
    return SpendingRules(tenant=SpendingLimit(per_day=amount), **rules)


def check_refusal(refused: httpx.Response, words: str, resets_at: str = "2040-03-02T00:00:00.000Z") -> None:
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retryable"]) == (429, "spending_limit_reached", False)
    assert problem["resetsAt"] == resets_at
    assert words in problem["detail"]


async def test_a_message_over_the_tenants_limit_is_refused_with_the_time_of_reset_and_not_stored() -> None:
    served = Served(limit_spending(per_day(15)))
    for _ in range(2):
        assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    body = {"sessionId": served.harness.thread_id, "messageId": "m1", "message": "Hello"}
    refused = await served.post("/messages", body)
    check_refusal(refused, "Your organisation")
    assert refused.headers["Retry-After"] == str(12 * 3_600 + 1)
    check_refusal(await served.post("/runs", run_input(served)), "Your organisation")
    assert (await served.get(f"/threads/{served.harness.thread_id}")).status_code == 404
    assert len(served.harness.model.requests) == 2
    served.harness.clock.advance(12 * 3_600)
    assert (await served.post("/messages", body)).status_code == 200


async def test_what_an_answer_costs_is_settled_in_place_of_what_it_could_have_cost() -> None:
    harness = limit_spending(per_day(1_000_000))
    await harness.say()
    counts = await harness.spending.get(harness.ada, TENANT)
    assert (counts.compute_spent(SpendingPeriod.DAY), counts.holds) == (10 * 10**9, {})


async def test_many_runs_at_once_exceed_the_limit_by_one_call_at_most() -> None:
    harness = limit_spending(per_day(100))
    served = Served(harness)
    bodies = [{"message": "Hello"} for _ in range(200)]
    answers = await asyncio.gather(*(served.post("/messages", body) for body in bodies))
    codes = [answer.json().get("code") for answer in answers]
    assert codes.count(None) == 10
    assert set(codes) == {None, "spending_limit_reached"}
    counts = await harness.spending.get(harness.ada, TENANT)
    assert counts.compute_spent(SpendingPeriod.DAY) == 100 * 10**9


async def test_without_limits_nothing_is_counted() -> None:
    harness = Harness()
    await harness.say()
    assert (harness.spending.writes, harness.spending.counts) == (0, {})


async def test_a_call_writes_twice_for_each_account_that_has_a_limit() -> None:
    most = SpendingLimit(per_day=1_000_000, per_month=1_000_000)
    for rules, writes in ((SpendingRules(tenant=most), 2), (SpendingRules(tenant=most, user=most), 4)):
        harness = limit_spending(rules)
        await harness.say()
        assert harness.spending.writes == writes


async def test_a_limited_user_leaves_others_their_share() -> None:
    served = Served(limit_spending(SpendingRules(user=SpendingLimit(per_month=10))))
    assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    check_refusal(await served.post("/messages", {"message": "More"}), "You have", "2040-04-01T00:00:00.000Z")
    assert (await served.post("/messages", {"message": "Hello"}, user="bob")).status_code == 200


async def test_a_limited_agent_ends_its_run_with_the_error() -> None:
    served = Served(limit_spending(SpendingRules(agents={"*": SpendingLimit(per_day=10)})))
    assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    check_refusal(await served.post("/messages", {"message": "More"}), "This agent")


async def test_a_stopped_tenant_or_agent_asks_no_model() -> None:
    for rules in (SpendingRules(enabled=False), SpendingRules(stopped_agents=("assistant",))):
        served = Served(limit_spending(rules))
        refused = await served.post("/messages", {"message": "Hello"})
        assert (refused.status_code, refused.json()["code"]) == (409, "models_stopped")
        assert served.harness.model.requests == []
        assert served.harness.spending.writes == 0


@pytest.mark.parametrize(
    "limits",
    [
        DeploymentLimits(spending=SpendingRules(enabled=False)),
        DeploymentLimits(spending=per_day(0)),
        DeploymentLimits(thread_tokens=1),
    ],
)
async def test_at_a_desk_a_user_is_heard_by_people_whatever_models_may_cost(limits: DeploymentLimits) -> None:
    harness = DeskHarness()
    await harness.say("m1", "Hello")
    harness.deployment_limits = limits
    served = Served(harness)
    path = f"/threads/{harness.thread_id}"
    refused = await served.post("/messages", {"sessionId": harness.thread_id, "messageId": "m2", "message": "Hello?"})
    assert refused.json()["code"] in {"models_stopped", "spending_limit_reached", "limit_reached"}
    assert (await served.post(f"{path}/desk", {"deskId": "support"})).status_code == 200
    assert (await served.post(f"{path}/desk/take", {}, "desk:answer", user="anna")).status_code == 200
    body = {"sessionId": harness.thread_id, "messageId": "m3", "message": "My invoice is wrong."}
    assert (await served.post("/messages", body)).status_code == 200
    items = (await served.get(f"{path}/messages")).json()["items"]
    assert "My invoice is wrong." in [item["content"] for item in items]


@pytest.mark.parametrize(("rule", "status"), [(None, 409), (UnknownPrices.TOKENS, 200)])
async def test_a_model_without_a_price_is_refused_unless_tokens_are_to_be_counted(
    rule: UnknownPrices | None, status: int
) -> None:
    served = Served(limit_spending(per_day(10, unknown_prices=rule), prices=Prices()))
    answer = await served.post("/messages", {"message": "Hello"})
    assert answer.status_code == status
    assert answer.json().get("code") == (None if status == 200 else "price_unknown")


async def test_an_answer_under_a_limit_has_a_maximum_of_tokens() -> None:
    harness = limit_spending(per_day(1_000_000, output_tokens=500))
    await harness.say()
    assert harness.model.requests[0].settings.max_output_tokens == 500


async def test_from_four_fifths_of_a_limit_on_the_user_is_warned_and_the_audit_says_so_once() -> None:
    harness = limit_spending(per_day(50))
    for number in range(4):
        await harness.say(f"m{number}")
    warned = await harness.say("m4")
    [warning] = [event for event in (event.body for event in warned.events) if event.get("name") == "spending_warning"]
    resets_at = "2040-03-02T00:00:00.000Z"
    assert warning["value"] == {"account": "tenant", "period": "day", "percent": 80, "resetsAt": resets_at}
    [record] = [record for record in harness.audit.records if record.action == "spending.warn"]
    detail = {"account": "tenant", "period": "day", "percent": "80", "resetsAt": resets_at}
    assert (record.outcome, record.detail) == ("reached", detail)


async def test_a_limit_that_asks_lets_a_user_go_on_who_wants_it_and_counts_what_it_costs() -> None:
    harness = limit_spending(per_day(10, at_limit=AtLimit.ASK))
    served = Served(harness)
    assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    body = {"sessionId": harness.thread_id, "messageId": "m9", "message": "More"}
    refused = await served.post("/messages", body)
    check_refusal(refused, "overSpending")
    assert refused.json()["canContinue"] is True
    assert (await served.post("/messages", body | {"overSpending": True})).status_code == 200
    forwarded = {"overSpending": True}
    assert '"RUN_FINISHED"' in (await served.post("/runs", run_input(served, forwardedProps=forwarded))).text
    counts = await harness.spending.get(harness.ada, TENANT)
    assert counts.compute_spent(SpendingPeriod.DAY) == 30 * 10**9


async def test_a_user_goes_on_beyond_a_limit_to_answer_an_earlier_message_again() -> None:
    served = Served(limit_spending(per_day(10, at_limit=AtLimit.ASK)))
    assert '"RUN_FINISHED"' in (await served.post("/runs", run_input(served))).text
    again: dict[str, Any] = {"branch": {"from": "m1", "regenerate": True}}
    check_refusal(await served.post("/runs", run_input(served, forwardedProps=again, runId="r-2")), "You")
    beyond = again | {"overSpending": True}
    answer = await served.post("/runs", run_input(served, forwardedProps=beyond, runId="r-3"))
    assert '"RUN_FINISHED"' in answer.text


async def test_a_run_that_has_ended_at_a_limit_that_asks_goes_on_by_a_new_message() -> None:
    agents = {"assistant": SpendingLimit(per_day=10)}
    served = Served(limit_spending(SpendingRules(agents=agents, at_limit=AtLimit.ASK)))
    assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    body = {"sessionId": served.harness.thread_id, "messageId": "m1", "message": "More"}
    end, second_answer = (
        await served.post("/messages", body),
        await served.post("/messages", body | {"overSpending": True}),
    )
    for answer in (end, second_answer):
        check_refusal(answer, "Send a new message with overSpending")
        assert answer.json()["canContinue"] is True
    new = body | {"messageId": "m2", "overSpending": True}
    assert (await served.post("/messages", new)).status_code == 200


async def test_a_limit_that_stops_lets_nobody_go_on() -> None:
    served = Served(limit_spending(per_day(10)))
    assert (await served.post("/messages", {"message": "Hello"})).status_code == 200
    refused = await served.post("/messages", {"message": "More", "overSpending": True})
    check_refusal(refused, "Your organisation")
    assert "canContinue" not in refused.json()


async def test_a_refusal_for_money_is_no_failure_of_the_model() -> None:
    harness = limit_spending(SpendingRules(stopped_agents=("assistant",)))
    written: list[Metric] = []
    with collect_counts(written.extend):
        assert (await harness.say()).types[-1] == "RUN_ERROR"
    assert Metric.TURNS in written
    assert Metric.MODEL_FAILURES not in written


async def test_a_draft_for_a_person_of_a_desk_is_spending_of_the_person() -> None:
    prices = Prices({"test-model": Price(input=A_TOKEN, output=A_TOKEN)})
    harness = DeskHarness(prices=prices)
    harness.deployment_limits = DeploymentLimits(spending=SpendingRules(user=SpendingLimit(per_day=10)))
    harness.model.otherwise = Answer(("Hello there.",), usage=Usage(5, 5))
    served = Served(harness)
    await harness.say("m1", "Hello")
    path, person = f"/threads/{harness.thread_id}/desk", Account.of_user("anna")
    await served.post(path, {"deskId": "support"})
    await served.post(f"{path}/take", {}, "desk:answer", user="anna")
    drafts = [await served.post(f"{path}/draft", {"kind": "reply"}, "desk:answer", user="anna") for _ in range(2)]
    assert drafts[0].json()["text"] == "Hello there.", "the user's limit is reached, and the person's is not"
    check_refusal(drafts[1], "You have")
    counts = await harness.spending.get(harness.ada, person)
    assert counts.compute_spent(SpendingPeriod.DAY) == 10 * 10**9
