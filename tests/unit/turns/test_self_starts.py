"""Runs that begin by themselves: a switch, limits of a day that stop every circle, and quiet hours."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from baton.domain.runs.usage import Price, Prices
from baton.domain.tenants.self_started_runs import QuietHours, SelfStartedRuns
from baton.domain.tenants.spending_rules import SpendingLimit, SpendingRules
from baton.domain.tenants.tenant_limits import DeploymentLimits, OperatorLimits
from tests.harness.due import DueHarness
from tests.harness.events import EventSender
from tests.unit.api.served import Served

NIGHT = {"quietHours": {"begin": "11:30", "end": "07:00"}}
"""It is noon in UTC when a harness begins."""


def set_rules(due: DueHarness | EventSender, **rules: Any) -> None:
    harness = due if isinstance(due, DueHarness) else due.harness
    harness.deployment_limits = DeploymentLimits(self_started_runs=SelfStartedRuns.model_validate(rules, by_alias=True))
    if isinstance(due, EventSender):
        due.served = Served(harness)


@pytest.fixture
def shop() -> EventSender:
    return EventSender()


async def send_events(shop: EventSender, *event_ids: str, thread_id: str | None = None) -> int:
    """Send events; return how many have begun a run."""
    before = len(shop.harness.model.requests)
    for event_id in event_ids:
        await shop.send(event_id, thread_id=thread_id)
        await shop.run_queue()
    return len(shop.harness.model.requests) - before


async def test_a_circle_of_events_ends_at_the_days_limit_of_its_conversation(shop: EventSender) -> None:
    set_rules(shop, perConversationPerDay=3)
    assert await send_events(shop, *(f"e{number}" for number in range(6))) == 3
    dropped = shop.list_audits("due.run")
    assert [(user, outcome, detail["code"], detail["id"]) for user, outcome, detail in dropped] == [
        ("ada", "dropped", "limit_reached", f"e{number}") for number in (3, 4, 5)
    ]
    assert await send_events(shop, "other", thread_id="another") == 1
    shop.harness.clock.advance(24 * 3600)
    assert await send_events(shop, "tomorrow") == 1


async def test_a_circle_through_new_conversations_ends_at_the_days_limit_of_its_user(shop: EventSender) -> None:
    set_rules(shop, perUserPerDay=2)
    assert [await send_events(shop, "e", thread_id=f"order-{number}") for number in range(4)] == [1, 1, 0, 0]


async def test_an_event_that_comes_again_counts_once_and_the_users_messages_not_at_all(shop: EventSender) -> None:
    set_rules(shop, perConversationPerDay=2)
    for number in range(3):
        await shop.harness.say(f"m{number}")
    assert await send_events(shop, "e1", "e1", "e1", "e2") == 2
    await shop.harness.say("m9")


async def test_schedules_count_with_events() -> None:
    due = DueHarness()
    set_rules(due, perConversationPerDay=1)
    await due.remind(rule="FREQ=DAILY")
    await due.remind(id="second", at="2040-03-01T14:00")
    assert await due.pass_time(hours=1) == 1
    assert await due.pass_time(hours=1) == 1
    assert len(due.model.requests) == 1
    [dropped] = [record for record in due.audit.records if record.action == "due.run"]
    assert (dropped.outcome, dropped.detail["id"]) == ("dropped", "second")


async def test_the_switch_stops_events_at_the_door_and_schedules_at_their_time(shop: EventSender) -> None:
    set_rules(shop, enabled=False)
    refused = await shop.send()
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    [(sender, outcome, detail)] = shop.list_audits("event.send")
    assert (sender, outcome, detail["code"], detail["userId"]) == ("shop", "refused", "limit_reached", "ada")
    due = DueHarness()
    await due.remind()
    set_rules(due, enabled=False)
    await due.pass_time(hours=1)
    assert due.model.requests == []
    assert [record.outcome for record in due.audit.records if record.action == "due.run"] == ["dropped"]
    await due.say("m1", "Hello")


async def test_quiet_hours_put_a_run_off_until_they_end_on_the_users_clocks(shop: EventSender) -> None:
    harness = shop.harness
    await harness.time_zones.put(harness.ada, "Europe/Vienna")
    set_rules(shop, **NIGHT)
    assert await send_events(shop, "e1") == 0
    [(_, outcome, detail)] = shop.list_audits("due.run")
    assert (outcome, detail["id"], detail["code"]) == ("put_off", "e1", "rate_limited")
    harness.clock.advance(17 * 3600)  # five in UTC, six in Vienna
    assert await harness.app.self_started.due_starts.sweep(seconds=10) == 0
    harness.clock.advance(3600 + 60)
    assert await harness.app.self_started.due_starts.sweep(seconds=10) == 1
    await shop.run_queue()
    cause, _ = await shop.messages()
    assert cause.begun_by is not None
    assert cause.begun_by.id == "e1"


async def test_a_run_over_a_spending_limit_is_put_off_until_it_is_reset(shop: EventSender) -> None:
    shop.harness.prices = Prices({"test-model": Price(input=1_000_000, output=1_000_000)})
    shop.harness.deployment_limits = DeploymentLimits(spending=SpendingRules(tenant=SpendingLimit(per_day=1.0)))
    shop.served = Served(shop.harness)
    assert await send_events(shop, "e1", "e2") == 1
    [(_, outcome, detail)] = shop.list_audits("due.run")
    assert (outcome, detail["id"], detail["code"]) == ("put_off", "e2", "spending_limit_reached")
    shop.harness.clock.advance(12 * 3600 + 60)
    assert await shop.harness.app.self_started.due_starts.sweep(seconds=10) == 1
    await shop.run_queue()
    assert len(shop.harness.model.requests) == 2


@pytest.mark.parametrize("code", ["spending_limit_reached", "models_stopped"])
async def test_a_run_whose_agent_may_ask_no_model_waits_until_it_may(code: str) -> None:
    due = DueHarness(prices=Prices({"test-model": Price(input=1_000_000, output=1_000_000)}))
    await due.say("m1", "Hello")
    await due.remind()
    agents = {"assistant": SpendingLimit(per_day=0)} if code == "spending_limit_reached" else {}
    stopped = ("assistant",) if code == "models_stopped" else ()
    due.deployment_limits = DeploymentLimits(spending=SpendingRules(agents=agents, stopped_agents=stopped))
    await due.pass_time(hours=1)
    assert len(await due.messages()) == 2, "nothing of the run is stored"
    assert [record.detail["code"] for record in due.audit.records if record.action == "due.run"] == [code]
    due.deployment_limits = DeploymentLimits()
    await due.pass_time(hours=13)
    assert [message.text for message in await due.messages()][2:] == ["Water the plants.", "Hello there."]


async def test_a_run_over_a_rate_is_put_off_and_not_lost(shop: EventSender) -> None:
    shop.harness.deployment_limits = DeploymentLimits(user_messages_per_minute=1)
    assert await send_events(shop, "e1", "e2") == 1
    shop.harness.clock.advance(61)
    await shop.harness.app.self_started.due_starts.sweep(seconds=10)
    await shop.run_queue()
    assert len(shop.harness.model.requests) == 2


@pytest.mark.parametrize(
    ("begin", "end", "now", "seconds"),
    [
        ("22:00", "07:00", "21:59:59", 0),
        ("22:00", "07:00", "22:00", 9 * 3600 + 1),
        ("22:00", "07:00", "06:59:59", 2),
        ("22:00", "07:00", "07:00", 0),
        ("12:00", "13:00", "12:30", 1801),
        ("12:00", "13:00", "13:00", 0),
    ],
)
async def test_quiet_hours_may_pass_midnight(begin: str, end: str, now: str, seconds: int) -> None:
    local = datetime.fromisoformat(f"2040-03-01T{now}").replace(tzinfo=UTC)
    assert QuietHours(begin=begin, end=end).count_seconds_left(local) == seconds


async def test_a_tenant_may_be_stricter_than_its_deployment_and_never_laxer() -> None:
    deployment = SelfStartedRuns(per_user_per_day=5, quiet_hours=QuietHours(begin="22:00", end="07:00"))
    own = SelfStartedRuns(enabled=False, per_user_per_day=9, per_conversation_per_day=3)
    assert own.within(deployment) == SelfStartedRuns(
        enabled=False, per_user_per_day=5, per_conversation_per_day=3, quiet_hours=deployment.quiet_hours
    )
    default = OperatorLimits().self_started_runs
    assert default is not None
    assert (default.per_conversation_per_day, default.per_user_per_day) == (100, 500)


async def test_administrators_set_the_rules_of_their_tenant(shop: EventSender) -> None:
    rules = {"enabled": False, "perUserPerDay": 3, "quietHours": {"begin": "22:00", "end": "07:00"}}
    answer = await shop.served.put("/tenant/limits", {"selfStartedRuns": rules}, "tenant:manage")
    assert answer.status_code == 200, answer.text
    assert answer.json()["limits"]["selfStartedRuns"] == {**rules, "perConversationPerDay": None}
    assert answer.json()["effective"]["selfStartedRuns"]["enabled"] is False
    [(_, _, detail)] = shop.list_audits("limits.change")
    assert detail["selfStartedRuns"]["enabled"] is False
    assert (await shop.send()).status_code == 409
    for wrong in ({"begin": "24:00", "end": "07:00"}, {"begin": "07:00", "end": "07:00"}, {"begin": "7", "end": "8"}):
        refused = await shop.served.put("/tenant/limits", {"selfStartedRuns": {"quietHours": wrong}}, "tenant:manage")
        assert refused.status_code == 422
