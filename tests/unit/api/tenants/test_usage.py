"""The usage of a tenant in a month is a sum of pages, for its administrators only, and has no content."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from baton.domain.runs.usage import Price, Prices
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending_rules import SpendingLimit, SpendingRules
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.threads.sessions import overviews
from baton_client.command.usage import add, format_lines
from tests.harness.harness import Harness
from tests.unit.api.served import Served

MANAGE = "tenant:manage"


@pytest.fixture
def served() -> Served:
    harness = Harness(prices=Prices({"test-model": Price(input=1_000_000, output=1_000_000)}))
    return Served(harness)


async def total(served: Served, **params: Any) -> dict[str, Any]:
    """Add the pages up as the command does."""
    usage: dict[str, Any] | None = None
    cursor: str | None = None
    while usage is None or cursor is not None:
        answer = await served.get("/usage", MANAGE, user="boss", **({"cursor": cursor} if cursor else params))
        assert answer.status_code == 200, answer.text
        usage, cursor = add(usage, answer.json()), answer.json()["nextCursor"]
    return usage


async def test_all_turns_of_the_month_are_added_up_by_agent_and_model(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = served.harness
    monkeypatch.setattr(overviews, "PAGE_THREADS", 2)
    for number in range(5):
        await harness.say(scope=Scope("acme", f"user-{number}"), thread_id=str(uuid.uuid4()))
    await harness.say("else", scope=Scope("other", "eve"), thread_id=str(uuid.uuid4()))
    for number in range(3):
        harness.files.bodies["acme", harness.thread_id, f"file_{number}"] = b"12345"
    harness.files.bodies["other", harness.thread_id, "file_4"] = b"not ours"
    usage = await total(served)
    counts = {"turns": 5, "failures": 0, "inputTokens": 50, "outputTokens": 10, "cost": 60.0, "unpriced": 0}
    assert {name: usage[name] for name in counts} == counts
    assert [(agent["agentId"], agent["turns"], agent["cost"]) for agent in usage["agents"]] == [("assistant", 5, 60.0)]
    assert [(model["model"], model["inputTokens"]) for model in usage["models"]] == [("test-model", 50)]
    assert usage["storage"] == {"objects": 3, "bytes": 15}
    assert (usage["month"], usage["threads"], usage["meteredCost"]) == ("2040-03", 5, None)
    assert "Turns: 5 (0 failed)" in format_lines(usage)


async def test_another_month_has_its_own_turns(served: Served) -> None:
    harness = served.harness
    await harness.say("m1")
    harness.clock.advance(40 * 86_400)
    await harness.say("m2")
    await harness.say("m3")
    assert [(await total(served, month=month))["turns"] for month in ("2040-02", "2040-03", "2040-04")] == [0, 1, 2]
    assert (await total(served))["turns"] == 2


async def test_what_limits_have_counted_has_deleted_conversations_too(served: Served) -> None:
    harness = served.harness
    harness.deployment_limits = DeploymentLimits(spending=SpendingRules(tenant=SpendingLimit(per_month=1e9)))
    await harness.say("m1")
    harness.store.bury(harness.ada, harness.thread_id)
    harness.clock.advance(31 * 86_400)
    await harness.say("m1", thread_id=str(uuid.uuid4()))
    march, april = await total(served, month="2040-03"), await total(served, month="2040-04")
    assert (march["turns"], march["meteredCost"]) == (0, 12.0)
    assert (april["turns"], april["meteredCost"]) == (1, 12.0)


async def test_usage_needs_the_permission_to_manage_the_tenant_and_is_audited_once(served: Served) -> None:
    assert (await served.get("/usage", "thread:read_all")).status_code == 403
    await total(served)
    records = [record for record in served.harness.audit.records if record.action == "usage.read"]
    assert [record.outcome for record in records] == ["denied", "allowed"]


@pytest.mark.parametrize("wrong", [{"month": "2040-13"}, {"month": "March"}, {"cursor": "e30"}, {"cursor": "?"}])
async def test_what_is_no_month_and_no_cursor_is_refused(served: Served, wrong: dict[str, str]) -> None:
    answer = await served.get("/usage", MANAGE, **wrong)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
