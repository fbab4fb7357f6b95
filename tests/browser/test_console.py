"""The console's frame: signing in, what permissions offer, and its policy."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


@pytest.fixture
def console(page: Page, cloud: RunningCloud) -> Console:
    """The console, nobody signed in."""
    return Console(page, cloud.url)


async def test_a_person_who_signs_in_is_offered_the_views_that_their_permissions_allow(console: Console) -> None:
    await console.open("/agents")
    await console.sign_in("demo", "operator", "audit:read")
    await expect(console.navigation.get_by_role("link")).to_have_text(["Audit"])
    await expect(console.main.get_by_role("alert")).to_contain_text("agent:write")
    await console.navigation.get_by_role("link", name="Audit").click()
    await expect(console.main.get_by_role("heading", name="Audit")).to_be_visible()
    await console.page.reload()
    await expect(console.main.get_by_role("heading", name="Audit")).to_be_visible()
    await console.page.get_by_role("button", name="Sign out").click()
    await expect(console.page.get_by_role("button", name="Sign in")).to_be_visible()


async def test_the_console_keeps_its_own_policy_and_asks_no_other_host(console: Console) -> None:
    requests: list[str] = []
    reported: list[str] = []
    console.page.on("request", lambda request: requests.append(request.url))
    console.page.on("console", lambda message: reported.append(message.text) if message.type == "error" else None)
    await console.open()
    await console.sign_in("demo")
    for name in ["Overview", "Conversations", "Audit", "Agents", "Procedures", "Documents", "Users", "Limits"]:
        await console.navigation.get_by_role("link", name=name).click()
        await expect(console.main.get_by_role("heading", level=1)).to_be_visible()
    assert [url for url in requests if not url.startswith((console.url, "data:"))] == []
    assert reported == []
