"""The monitor: conversations of the tenant as a list, and each as a timeline, live."""

from __future__ import annotations

import uuid
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from baton_local import web
from tests.browser.console import Console, say
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)
HOSTILE_USER = '<img src=x onerror="alert(1)">'
HOSTILE = '<img src=x onerror="alert(1)"> \u202egnp.exe </textarea><script>alert(2)</script>'


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_an_administrator_finds_a_conversation_and_sees_live_who_did_what(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    await say(cloud, tenant, "ada", session, "Hello")
    await say(cloud, tenant, HOSTILE_USER, str(uuid.uuid4()), HOSTILE)
    console = Console(page, cloud.url)
    await console.open("/threads")
    await console.sign_in(tenant)
    rows = console.main.locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(console.main.get_by_text(HOSTILE_USER, exact=True)).to_be_visible()

    await rows.filter(has_text="ada").get_by_role("link").click()
    lines = console.main.get_by_role("option")
    await expect(lines).to_have_count(3)
    await expect(console.main.get_by_text("live")).to_be_visible()
    await say(cloud, tenant, "ada", session, "And again")
    await expect(lines).to_have_count(6)
    await expect(lines.nth(4)).to_contain_text("And again")

    await console.main.get_by_role("listbox").press("End")
    await expect(console.main.get_by_role("complementary", name="Details")).to_contain_text("Message")
    await console.main.get_by_role("listbox").press("Home")
    await expect(console.main.get_by_role("complementary", name="Details")).to_contain_text("Turn")
    await page.reload()
    await expect(console.main.get_by_role("complementary", name="Details")).to_contain_text("Turn")
    await console.main.get_by_role("listbox").press("Escape")
    await expect(console.main.get_by_role("complementary", name="Details")).to_have_count(0)


async def test_a_conversation_of_another_tenant_is_refused_and_nothing_of_it_is_shown(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    session = str(uuid.uuid4())
    await say(cloud, f"t{uuid.uuid4().hex[:8]}", "ada", session, "A secret")
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}")
    await console.sign_in("demo")
    await expect(console.main.get_by_role("alert")).to_contain_text("not available")
    assert "secret" not in await page.content()


async def test_an_administrator_asks_a_question_again_in_a_sandbox(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    await say(cloud, tenant, "ada", session, "Hello")
    await say(cloud, tenant, "ada", session, "Which one?")
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}")
    await console.sign_in(tenant)
    await console.main.get_by_role("option").filter(has_text="Turn").last.click()
    await console.main.get_by_role("button", name="Ask again in a sandbox").click()
    field = console.main.get_by_role("textbox", name="Say something in this sandbox")
    await expect(field).to_have_value("Which one?")
    await field.fill("Or another?")
    await console.main.get_by_role("button", name="Send").click()
    await expect(console.main.get_by_role("option").filter(has_text="Or another?").first).to_be_visible()
    await expect(console.main.get_by_role("link", name=session[:8])).to_be_visible()


async def test_two_runs_are_compared_side_by_side(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    first = await say(cloud, tenant, "ada", session, "Hello")
    second = await say(cloud, tenant, "ada", session, "A much longer question than the other one")
    console = Console(page, cloud.url)
    await console.open(f"/compare?left={session}/{first}")
    await console.sign_in(tenant)
    left, right = (console.main.get_by_role("region", name=side) for side in ("Left", "Right"))
    await expect(left).to_contain_text("Hello")
    await right.get_by_label("Link to a turn").fill(f"{cloud.url}/monitor/#/threads/{session}?at=turn:{second}")
    await right.get_by_role("button", name="Show").click()
    await expect(right).to_contain_text("A much longer question")
    await expect(right.get_by_text("(differs)").first).to_be_attached()


async def test_thousands_of_items_are_found_by_a_link_and_only_the_visible_ones_are_drawn(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    run_id = await say(cloud, tenant, "ada", session, "Hello")

    async def calls(route: Route) -> None:
        first = int(parse_qs(urlsplit(route.request.url).query).get("cursor", ["0"])[0])
        items = [
            {
                "id": f"c{number}",
                "runId": run_id,
                "taskId": None,
                "agentId": f"agent{number % 7}",
                "toolName": HOSTILE,
                "input": {"number": number},
                "output": "x" * 200,
                "succeeded": number % 50 != 0,
                "errorMessage": None,
                "calledAt": f"2020-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
                "durationMs": number,
            }
            for number in range(4_999 - first, 4_899 - first, -1)
        ]
        following = str(first + 100) if first < 4_900 else None
        await route.fulfill(json={"items": items, "nextCursor": following})

    await page.route("**/tool-calls?*", calls)
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}?at=call:c0")
    await console.sign_in(tenant)
    chosen = console.main.get_by_role("option", selected=True)
    await expect(chosen).to_have_attribute("aria-setsize", "5003")
    await expect(chosen).to_have_attribute("aria-posinset", "1")
    assert await console.main.get_by_role("option").count() < 100
    await console.main.get_by_role("listbox").press("End")
    await expect(chosen).to_have_attribute("aria-posinset", "5003")
    assert await console.main.get_by_role("option").count() < 100
