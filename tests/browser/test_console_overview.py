"""The overview, which is counted page by page, and the limits of a tenant."""

from __future__ import annotations

import uuid

import httpx
import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_an_administrator_sees_what_happened_and_goes_on_to_the_conversations(
    page: Page, cloud: RunningCloud
) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    session = str(uuid.uuid4())
    headers = {"Authorization": f"Bearer {cloud.token(tenant, 'ada')}"}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=60, headers=headers) as client:
        for number in range(2):
            body = {"sessionId": session, "messageId": f"m{number}", "message": "Hello"}
            assert (await client.post("/v1/messages", json=body)).status_code == 200
    console = Console(page, cloud.url)
    await console.open()
    await console.sign_in(tenant)
    covered = "Covers 1 conversation. These are all; forks are not counted."
    await expect(console.main.get_by_role("status").first).to_contain_text(covered)
    await expect(console.main.locator("dl")).to_contain_text("Turns2")
    agents = console.main.get_by_role("table", name="By agent")
    await expect(agents.locator("tbody tr")).to_have_count(1)
    await expect(console.main.get_by_role("img", name="Turns and failures a day")).to_be_visible()
    await console.main.get_by_label("Period").select_option("30")
    await expect(page).to_have_url(f"{cloud.url}/monitor/#/?days=30")
    slowest = console.main.get_by_role("table", name="Slowest turns").get_by_role("link")
    await expect(slowest).to_have_attribute("title", session)
    await agents.get_by_role("link").click()
    await expect(console.main.get_by_role("table", name="Conversations").locator("tbody tr")).to_have_count(1)


async def test_an_administrator_reads_the_usage_of_a_month(page: Page, cloud: RunningCloud) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    headers = {"Authorization": f"Bearer {cloud.token(tenant, 'ada')}"}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=60, headers=headers) as client:
        assert (await client.post("/v1/messages", json={"message": "Hello"})).status_code == 200
    console = Console(page, cloud.url)
    await console.open("/usage")
    await console.sign_in(tenant)
    await expect(console.main.locator("dl")).to_contain_text("Turns1")
    await expect(console.main.get_by_role("table", name="By agent").locator("tbody tr")).to_have_count(1)
    await console.main.get_by_label("Month").fill("2020-01")
    await expect(console.main.locator("dl")).to_contain_text("Turns0")


async def test_an_administrator_limits_what_models_cost_and_keeps_the_other_rules(
    page: Page, cloud: RunningCloud
) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    headers = {"Authorization": f"Bearer {cloud.token(tenant, 'chief', 'tenant:manage')}"}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=60, headers=headers) as client:
        rules = {"user": {"perDay": 1.5}, "atLimit": "ask"}
        assert (await client.put("/v1/tenant/limits", json={"spending": rules})).status_code == 200
        console = Console(page, cloud.url)
        await console.open("/limits")
        await console.sign_in(tenant)
        await console.main.get_by_label("Cost of models in a day").fill("2.25")
        await console.main.get_by_label("Stop all calls of models").check()
        await console.main.get_by_role("button", name="Save limits").click()
        await expect(console.main.get_by_role("button", name="Discard changes")).to_have_count(0)
        spending = (await client.get("/v1/tenant/limits")).json()["limits"]["spending"]
    assert (spending["enabled"], spending["tenant"]) == (False, {"perDay": 2.25, "perMonth": None})
    assert (spending["user"]["perDay"], spending["atLimit"]) == (1.5, "ask")


async def test_of_two_administrators_the_later_one_learns_and_loses_nothing(page: Page, cloud: RunningCloud) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    console = Console(page, cloud.url)
    await console.open("/limits")
    await console.sign_in(tenant)
    tokens = console.main.get_by_label("Tokens of one conversation")
    await tokens.fill("5000")
    chief = {"Authorization": f"Bearer {cloud.token(tenant, 'chief', 'tenant:manage')}"}
    async with httpx.AsyncClient(base_url=cloud.url, headers=chief) as client:
        assert (await client.put("/v1/tenant/limits", json={"agents": 7})).status_code == 200
    await console.main.get_by_role("button", name="Save limits").click()
    conflict = console.main.get_by_role("alert", name="Somebody else has changed the limits")
    await expect(conflict).to_contain_text("chief has changed the limits")
    await expect(conflict).to_contain_text("yours: 5,000; theirs: as deployed")
    await expect(conflict).to_contain_text("yours: as deployed; theirs: 7")
    await conflict.get_by_role("button", name="Go on with mine").click()
    await console.main.get_by_label("Agents of your own").fill("7")
    await console.main.get_by_role("button", name="Save limits").click()
    await expect(page.get_by_text("The limits are saved.")).to_be_visible()
    await expect(console.main.get_by_text("Changed by admin")).to_be_visible()
    async with httpx.AsyncClient(base_url=cloud.url, headers=chief) as client:
        limits = (await client.get("/v1/tenant/limits")).json()["limits"]
    assert {name: value for name, value in limits.items() if value is not None} == {"agents": 7, "threadTokens": 5000}
    await console.main.get_by_label("Agents of your own").fill("51")
    await console.main.get_by_role("button", name="Save limits").click()
    assert await console.main.get_by_label("Agents of your own").evaluate("field => field.validity.rangeOverflow")
