"""One user in the console: what they said, everything of it as a file, and forgetting all of it with a report."""

from __future__ import annotations

import json
import uuid

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console, say
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_an_administrator_exports_and_forgets_a_user(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    await say(cloud, tenant, "ada@example.com", str(uuid.uuid4()), "Remember me")
    console = Console(page, cloud.url)
    await console.open("/users")
    await console.sign_in(tenant)
    await console.main.get_by_role("textbox", name="User").fill("ada@example.com")
    await console.main.get_by_role("button", name="Look up").click()
    await expect(console.main.locator("tbody tr")).to_have_count(1)

    async with page.expect_download() as download:
        await console.main.get_by_role("button", name="Export everything").click()
    lines = [json.loads(line) for line in (await (await download.value).path()).read_text().splitlines()]
    assert "Remember me" in json.dumps(lines)

    await console.main.get_by_role("button", name="Forget this user").click()
    confirmation = console.main.get_by_label("to confirm")
    await confirmation.fill("ada")
    await console.main.get_by_role("button", name="Forget now").click()
    await expect(page.get_by_text("Nothing was forgotten")).to_be_visible()
    await confirmation.fill("ada@example.com")
    await console.main.get_by_role("button", name="Forget now").click()
    report = console.main.get_by_role("region", name="Report")
    await expect(report).to_contain_text("threads: 1")
