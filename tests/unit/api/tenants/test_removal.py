"""The removal of a tenant over the API."""

from __future__ import annotations

import pytest

from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.removal import WORK_ID
from baton_testing.fakes.tenants.removals import FakeTenantRemovals
from tests.fakes.erasure import FakeForgettings
from tests.unit.api.served import Served

REMOVE, MANAGE = "tenant:remove", "tenant:manage"
ADDRESS = "/tenant/removal"
OPERATOR = Scope("acme", "operator", frozenset({Permission.TENANT_REMOVE}))


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
