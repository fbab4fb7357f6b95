"""The removal of a tenant over the API, and the doors that it closes."""

from __future__ import annotations

import pytest

from baton.domain.errors import TenantRemoved
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.removal import WORK_ID
from baton_testing.fakes.tenants.removals import FakeTenantRemovals
from tests.fakes.erasure import FakeForgettings
from tests.harness.harness import Harness
from tests.harness.sockets import Socketed
from tests.unit.api.served import Served

REMOVE, MANAGE = "tenant:remove", "tenant:manage"
ADDRESS = "/tenant/removal"
OPERATOR = Scope("acme", "operator", frozenset({Permission.TENANT_REMOVE}))


async def close(harness: Harness) -> None:
    """Close ada's tenant, without removing anything yet."""
    calls, work = harness.app.privacy.removal_calls, harness.app.privacy.removal
    removal = await calls.plan(OPERATOR)
    await work.sweep(OPERATOR, WORK_ID, seconds=60)
    await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=True)
    harness.clock.advance(60)


async def test_a_removal_is_planned_confirmed_and_followed() -> None:
    served = Served()
    harness = served.harness
    assert (await served.get(ADDRESS, REMOVE)).status_code == 404
    planned = await served.post(ADDRESS, None, REMOVE)
    assert (planned.status_code, planned.json()["status"]) == (202, "counting")
    plan_id = planned.json()["planId"]
    body = {"tenantId": "acme", "planId": plan_id, "audit": "remove"}
    early = await served.post(f"{ADDRESS}/confirm", body, REMOVE)
    assert (early.status_code, early.json()["code"]) == (409, "removal_not_planned")
    await harness.app.privacy.removal.sweep(OPERATOR, WORK_ID, seconds=60)
    assert (await served.get(ADDRESS, REMOVE)).json()["status"] == "planned"
    other = await served.post(f"{ADDRESS}/confirm", {**body, "tenantId": "acme2"}, REMOVE)
    assert other.status_code == 422
    confirmed = await served.post(f"{ADDRESS}/confirm", body, REMOVE)
    assert (confirmed.status_code, confirmed.json()["status"], confirmed.json()["audit"]) == (202, "removing", "remove")
    assert isinstance(harness.forgettings, FakeForgettings)
    assert [name.partition("-")[0] for name in harness.forgettings.started] == ["plan", "remove"]


@pytest.mark.parametrize("permissions", [(), (MANAGE, "user:manage")])
async def test_an_administrator_cannot_remove_the_tenant(permissions: tuple[str, ...]) -> None:
    served = Served()
    answers = [
        await served.get(ADDRESS, *permissions),
        await served.post(ADDRESS, None, *permissions),
        await served.post(f"{ADDRESS}/confirm", {"tenantId": "acme", "planId": "p"}, *permissions),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert isinstance(served.harness.removals, FakeTenantRemovals)
    assert served.harness.removals.removals == {}


async def test_a_closed_tenant_is_refused_everywhere_but_sees_its_removal() -> None:
    served = Served()
    await close(served.harness)
    refused = [
        await served.get("/threads"),
        await served.get("/users/me"),
        await served.post("/messages", {"messageId": "m", "message": "Hello"}),
        await served.post(ADDRESS, None, REMOVE),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(410, "tenant_removed")}
    assert (await served.get(ADDRESS, REMOVE)).status_code == 200


async def test_frames_of_a_closed_tenant_are_refused_and_it_opens_no_connections() -> None:
    harness = Harness()
    socketed = Socketed(harness)
    await close(harness)
    refusal = await socketed.refused("message", content="Hello", messageId="m")
    assert refusal["code"] == "tenant_removed"
    assert harness.connections.closed == ["tab"]
    with pytest.raises(TenantRemoved):
        await harness.app.actions.admit_connection(harness.ada, "another")


@pytest.mark.parametrize("is_dead", [False, True])
async def test_queued_work_of_a_closed_tenant_is_dropped(is_dead: bool) -> None:
    harness = Harness()
    socketed = Socketed(harness)
    await socketed.send("message", content="Hello", messageId="m")
    assert [event["name"] for event in socketed.received()] == ["message_accepted"]
    await close(harness)
    await (socketed.give_up() if is_dead else socketed.work())
    assert socketed.received() == []
    assert harness.model.asked == []
