"""Messages that are written while the agent works: the widget shows what becomes of each, and withdraws one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.accessibility import violations
from tests.browser.screens import HostApplication
from tests.browser.widget import Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture
def site(cloud: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[HostApplication]:
    web.build()
    with foreign_site(tmp_path, cloud.url) as running:
        yield running


@pytest.fixture
async def widget(page: Page, site: HostApplication) -> Widget:
    """The widget, open and connected."""
    opened = Widget(page, site.url)
    await opened.open()
    return opened


async def consulting(widget: Widget, model: FaultModel) -> Gate:
    """An agent that asks another one, whose answer the gate holds."""
    gate, asks = Gate("Flights go ", "at nine."), calls_tools(("ask_knowledge", {"message": "When do flights go?"}))
    model.script(asks, gate.behaviour, answers("At nine."))
    await widget.say("Find a flight.")
    await expect(widget.page.locator("[part~=research]")).to_be_visible()
    return gate


async def test_a_message_enters_the_answer_and_another_one_is_withdrawn(
    widget: Widget, site: HostApplication, model: FaultModel
) -> None:
    page = widget.page
    other = Widget(await page.context.new_page(), site.url)
    await other.open()
    gate = await consulting(widget, model)
    await page.evaluate("document.querySelector('baton-chat').send('To Graz, please.', { whileBusy: 'steer' })")
    waits = page.locator("[part=waits]")
    await expect(waits).to_contain_text("Will be read while the answer is made")
    await widget.say("Never mind the return.")
    await expect(waits.last).to_contain_text("Waits for its turn")
    assert await violations(page) == []
    await waits.last.get_by_role("button", name="Withdraw").click()
    await expect(widget.locate_bodies("user")).to_have_text(["Find a flight.", "To Graz, please."])
    gate.open()
    await expect(widget.locate_bodies("assistant").last).to_have_text("At nine.")
    for screen in (widget, other):
        await expect(screen.locate_bodies("user")).to_have_text(["Find a flight.", "To Graz, please."])
        await expect(screen.page.locator("article.user").last).to_contain_text("Read while the answer was made")
    await expect(page.get_by_role("button", name="Edit message")).to_have_count(1)  # none of what has entered a run
    assert "To Graz, please." in str(model.requests[-1].body["messages"][-1])
    await page.reload()
    await page.get_by_role("button", name="Open chat").click()
    await expect(widget.locate_bodies("user")).to_have_text(["Find a flight.", "To Graz, please."])
    await expect(page.locator("article.user").last).to_contain_text("Read while the answer was made")
