"""Administrators set what their tenant may have, never more than the deployment allows."""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import Any

import httpx
import pytest
from pydantic.alias_generators import to_camel

from baton.domain.errors import LimitReached, StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending_rules import SpendingRules
from baton.domain.tenants.tenant_limits import LIMITS, TALKING_LIMITS, DeploymentLimits, TenantLimits
from baton_client.asynchronous.resources.tenant import AsyncTenant
from baton_local.root import ROOT
from baton_testing.fakes.tenants.tenants import FakeTenantLimits
from tests.harness.harness import Harness
from tests.unit.api.served import Served

MANAGE = "tenant:manage"
NONE: dict[str, int | None] = {to_camel(name): None for name in LIMITS}
UNSET: dict[str, Any] = NONE | {"selfStartedRuns": None, "spending": None}
FREE = {"enabled": True, "perConversationPerDay": None, "perUserPerDay": None, "quietHours": None}
"""The rules for runs that begin by themselves of a deployment that has none."""
UNLIMITED = SpendingRules().model_dump(mode="json", by_alias=True)
"""The rules for spending of a deployment that has none."""
ANOTHER = "5c2f3a7e-6d55-4b62-9f0e-3a1c2f7f9f10"


def with_deployment(**limits: Any) -> Served:
    harness = Harness()
    harness.deployment_limits = DeploymentLimits(**limits)
    return Served(harness)


def harness_with(**limits: Any) -> Harness:
    """Turns in a tenant that has chosen these limits."""
    harness = Harness()
    stored = harness.tenant_limits
    assert isinstance(stored, FakeTenantLimits)
    stored.limits["acme"] = TenantLimits(**limits, revision=1)
    return harness


async def put(served: Served, body: Any, *, read: str | None = None, user: str = "boss") -> httpx.Response:
    headers = {"If-Match": read} if read is not None else {}
    return await served.put("/tenant/limits", body, MANAGE, user=user, headers=headers)


def test_client_console_and_reference_have_every_limit() -> None:
    parameters = inspect.signature(AsyncTenant.set_limits).parameters
    console = (ROOT / "clients/web/console/src/views/limits/limits-view.ts").read_text()
    reference = "".join((ROOT / f"docs/reference/{page}.md").read_text() for page in ("limits", "settings"))
    assert {*LIMITS, "self_started_runs", "spending"} == parameters.keys() - {"self", "version"}
    assert set(NONE) == set(re.findall(r'^  "(\w+)",$', console, re.MULTILINE))
    assert set(NONE) <= set(re.findall(r"\w+", reference))


async def test_limits_that_were_never_set_are_the_deployments() -> None:
    answer = await with_deployment(thread_tokens=1_000).get("/tenant/limits", MANAGE)
    assert answer.headers["ETag"] == '"0"'
    assert answer.json() == {
        "limits": UNSET,
        "deployment": UNSET | {"agents": 50, "threadTokens": 1_000},
        "effective": NONE | {"agents": 50, "threadTokens": 1_000, "selfStartedRuns": FREE, "spending": UNLIMITED},
        "changedBy": None,
        "changedAt": None,
    }


async def test_a_tenant_may_choose_less_than_the_deployment_and_not_more() -> None:
    served = with_deployment(thread_tokens=1_000)
    refused = await put(served, {"threadTokens": 1_001})
    assert (refused.status_code, "threadTokens" in refused.json()["detail"]) == (422, True)
    set_to = (await put(served, {"threadTokens": 999, "capturesPerDay": 7})).json()
    assert set_to["limits"] == UNSET | {"threadTokens": 999, "capturesPerDay": 7}
    assert set_to["effective"] == UNSET | {
        "agents": 50,
        "capturesPerDay": 7,
        "threadTokens": 999,
        "selfStartedRuns": FREE,
        "spending": UNLIMITED,
    }
    assert set_to["changedBy"] == "boss"
    assert (await served.get("/tenant/limits", MANAGE)).json() == set_to


@pytest.mark.parametrize("name", [to_camel(name) for name in TALKING_LIMITS])
async def test_no_rate_refuses_everything_to_everybody(name: str) -> None:
    served = Served()
    refused = await put(served, {name: 0})
    assert (refused.status_code, name in refused.json()["detail"]) == (422, True)
    assert (await put(served, {name: 1})).status_code == 200


async def test_the_later_of_two_administrators_learns_it() -> None:
    served = with_deployment()
    first = await put(served, {"agents": 1}, read='"0"')
    assert first.headers["ETag"] == '"1"'
    late = await put(served, {"agents": 2}, read='"0"', user="chief")
    assert (late.status_code, late.json()["code"]) == (412, "limits_changed")
    assert (await put(served, {"agents": 1}, read='"0"')).json() == first.json()
    assert (await put(served, {"agents": 2}, read='"1"', user="chief")).headers["ETag"] == '"2"'
    assert (await put(served, {"agents": 3}, read="*")).status_code == 200
    assert (await put(served, {"agents": 4}, read="3")).status_code == 422


async def test_changes_are_audited_and_need_the_permission() -> None:
    served = with_deployment()
    await put(served, {"agents": 1})
    [record] = served.harness.audit.records
    assert (record.scope.user_id, record.action, record.outcome) == ("boss", "limits.change", "changed")
    assert record.detail == NONE | {"agents": 1}
    assert (await served.get("/tenant/limits", "user:manage")).status_code == 403
    assert (await served.put("/tenant/limits", {}, "user:manage")).status_code == 403


@pytest.mark.parametrize(
    "wrong", [{"agents": -1}, {"agents": True}, {"agents": "3"}, {"agents": 1.5}, {"agents": 51}, []]
)
async def test_what_is_no_limit_is_refused(wrong: Any) -> None:
    assert (await put(with_deployment(), wrong)).status_code == 422


async def test_an_agent_has_no_more_documents_than_its_limit_and_keeps_those_it_has() -> None:
    served = Served(harness_with(documents_per_agent=1))
    document = {"name": "handbook.pdf", "contentType": "application/pdf", "size": 10, "sha256": "a" * 64}
    added = await served.post("/agents/assistant/documents", document, "document:write")
    assert added.status_code == 201
    refused = await served.post("/agents/assistant/documents", document | {"name": "b.pdf"}, "document:write")
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    second_answer = await served.post("/agents/assistant/documents", document, "document:write")
    assert second_answer.json()["document"]["id"] == added.json()["document"]["id"]


async def test_a_conversation_that_has_used_its_tokens_is_refused_and_loses_nothing() -> None:
    harness = harness_with(thread_tokens=20)
    await harness.say("m1")
    await harness.say("m2")
    before = await harness.store.get_thread(harness.ada, harness.thread_id)
    for _ in range(2):
        with pytest.raises(LimitReached):
            await harness.say("m3")
    after = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (after.next_ordinal, after.last_seq, after.run) == (before.next_ordinal, before.last_seq, None)
    await harness.say("m2")  # answered before: replayed
    await harness.say("m1", thread_id=ANOTHER)


async def test_a_tenants_limit_holds_within_a_minute_without_a_read_a_turn() -> None:
    harness = Harness()
    limits = harness.tenant_limits
    assert isinstance(limits, FakeTenantLimits)
    for number in range(3):
        await harness.say(f"m{number}")
    assert limits.reads == 1
    await limits.put(harness.ada, TenantLimits(thread_tokens=1, revision=1))
    harness.clock.advance(60)
    with pytest.raises(LimitReached):
        await harness.say("m4")
    await harness.say("m5", scope=Scope("other", "ada"), thread_id=ANOTHER)


async def test_limits_that_are_read_slowly_are_not_waited_for_while_the_copy_is_young() -> None:
    harness, answers = Harness(), asyncio.Event()
    limits, store, ada = harness.app.limits.current, harness.tenant_limits, harness.ada
    assert (await limits.of(ada)).thread_tokens is None
    await store.put(ada, TenantLimits(thread_tokens=1, revision=1))
    harness.clock.advance(60)
    read = store.get

    async def read_slowly(scope: Scope) -> TenantLimits:
        await answers.wait()
        return await read(scope)

    store.get = read_slowly  # type: ignore[method-assign]
    assert (await limits.of(ada)).thread_tokens is None
    answers.set()
    assert (await limits.of(ada)).thread_tokens == 1


async def test_limits_that_cannot_be_read_stop_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()

    async def fail(scope: Scope) -> TenantLimits:
        raise StoreUnavailable

    monkeypatch.setattr(harness.tenant_limits, "get", fail)
    await harness.say("m1")
