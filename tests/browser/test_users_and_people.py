"""Users in the widget and people at the console's desk, in separate browsers, over one local cloud."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, BrowserContext, Error, Locator, Page, expect

from tests.browser.console import Console
from tests.browser.desks import PERMISSIONS, write_desks
from tests.browser.widget import Widget
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel, answers

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

NIGHT_SECONDS = 150
"""A minute's wait at a desk, until the sweeper has noticed its end."""
ASSISTANT = """\
id: assistant
name: Assistant
description: Helps customers of the shop.
main: true
system_prompt: You help customers of a shop.
handoffs: [{to: support}, {to: billing}, {to: complaints}]
"""
BILLING = """\
id: billing
kind: desk
name: Billing
description: People who know invoices.
desk: {wait_minutes: 1}
"""
COMPLAINTS = """\
id: complaints
kind: desk
name: Complaints
description: People who decide about complaints.
desk: {hours: {zone: UTC, week: {DAY: "09:00-17:00"}}}
"""


@pytest.fixture(scope="module")
def shop(fault_model_server: FaultModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """A shop with a desk that is open, one that soon gives up, and one that opens in two days."""
    agents = write_desks(tmp_path_factory.mktemp("agents"))
    day = f"{datetime.now(UTC) + timedelta(days=2):%a}".lower()
    (agents / "assistant.yaml").write_text(ASSISTANT)
    (agents / "billing.yaml").write_text(BILLING)
    (agents / "complaints.yaml").write_text(COMPLAINTS.replace("DAY", day))
    settings = {"BATON_LOCAL_SWEEP_SECONDS": "2"}
    with RunningCloud(fault_model_server.base_url, settings=settings, agents=agents) as running:
        yield running


@dataclass
class Company:
    """The users and people of one tenant. Each has a browser."""

    cloud: RunningCloud
    browser: Browser
    stack: AsyncExitStack
    errors: list[Error]
    tenant: str

    async def user(self) -> Widget:
        """Return the widget of ada, who has said that her parcel arrived broken."""
        page = await self._page()
        await page.add_init_script(f"localStorage.setItem('demo.tenant', '{self.tenant}')")
        widget = Widget(page, self.cloud.url)
        await page.goto(widget.url)
        await widget.wait_until_connected()
        await widget.say("My parcel arrived broken")
        await expect(widget.locate_bodies("assistant")).to_have_text(["I am sorry to hear that."])
        return widget

    async def person(self, name: str) -> Console:
        """Return the console of a person who looks at their desks."""
        console = Console(await self._page(), self.cloud.url)
        await console.open("/desk")
        await console.sign_in(self.tenant, name, *PERMISSIONS)
        return console

    async def _page(self) -> Page:
        context: BrowserContext = await self.browser.new_context(locale="en-US", timezone_id="UTC")
        self.stack.push_async_callback(context.close)
        context.set_default_timeout(60_000)
        page = await context.new_page()
        page.on("pageerror", lambda error: self.errors.append(error))
        return page


@pytest.fixture
async def company(browser: Browser, shop: RunningCloud, model: FaultModel) -> AsyncIterator[Company]:
    """A tenant that no other test has used, whose assistant is sorry. No page may run into an error."""
    model.script(answers("I am sorry to hear that."))
    errors: list[Error] = []
    async with AsyncExitStack() as stack:
        yield Company(shop, browser, stack, errors, f"t{uuid.uuid4().hex[:8]}")
    assert errors == []


def talk_to(widget: Widget, desk: str) -> Locator:
    """Return the button that asks for a desk."""
    return widget.page.get_by_role("button", name=f"Talk to people: {desk}")


def session(widget: Widget) -> Locator:
    """Return what the widget says about the desk."""
    return widget.page.locator("[part~=session]")


def log(console: Console) -> Locator:
    """Return the conversation that the person looks at."""
    return console.main.get_by_role("log")


async def write(console: Console, text: str) -> None:
    """Send the user a message in the person's name."""
    field = console.main.get_by_role("textbox", name="Message")
    await field.fill(text)
    await field.press("Enter")
    await expect(field).to_have_value("")


async def test_a_user_asks_for_a_person_talks_to_them_and_the_agent_knows_what_was_said(
    company: Company, model: FaultModel
) -> None:
    ada, anna, ben = await company.user(), await company.person("anna"), await company.person("ben")
    await talk_to(ada, "Support team").click()
    await expect(session(ada)).to_contain_text("Waiting for a person: Support team.")
    for person in (anna, ben):
        link = person.main.get_by_role("link", name="ada")
        await expect(link).to_contain_text("Support team")
        await link.click()
        await expect(log(person)).to_contain_text("I am sorry to hear that.")

    await asyncio.gather(*(person.main.get_by_role("button", name="Take").click() for person in (anna, ben)))
    for person in (anna, ben):
        await expect(person.main.get_by_role("button", name="Take")).to_have_count(0)
    is_anna = await anna.main.get_by_role("button", name="Hand back").count() == 1
    (winner, name), loser = ((anna, "anna"), ben) if is_anna else ((ben, "ben"), anna)
    await expect(loser.main).to_contain_text(f"{name} answers this conversation.")
    await expect(ada.page.locator(".header .name")).to_have_text(name)

    await write(winner, "Do you have a photo?")
    await expect(ada.page.get_by_role("article", name=f"{name}, A person")).to_contain_text("Do you have a photo?")
    await ada.input.press_sequentially("Yes, ")
    await expect(winner.main).to_contain_text("ada is typing")
    await ada.say("Yes, of the box")
    await expect(log(winner)).to_contain_text("Yes, of the box")
    await expect(winner.main).not_to_contain_text("ada is typing")
    field = winner.main.get_by_role("textbox", name="Message")
    await field.press_sequentially("Then you ")
    await expect(ada.page.locator("[part=typing]")).to_be_visible()

    await asyncio.gather(ada.page.reload(), winner.page.reload(), loser.page.reload())
    await ada.wait_until_connected()
    await expect(field).to_have_value("Then you ")
    await write(winner, "Then you get your money back.")
    messages = ["My parcel arrived broken", "Yes, of the box"]
    answered = [
        "I am sorry to hear that.",
        "Support team has been asked. Somebody will answer here soon.",
        f"You are talking to {name} now.",
        "Do you have a photo?",
        "Then you get your money back.",
    ]
    await expect(ada.locate_bodies("assistant")).to_have_text(answered)
    await expect(ada.locate_bodies("user")).to_have_text(messages)
    for person in (winner, loser):
        await expect(log(person).locator("article.user")).to_have_count(2)
        await expect(log(person).locator("article.person")).to_have_count(2)
    await expect(loser.main).to_contain_text(f"{name} answers this conversation.")

    await winner.main.get_by_role("button", name="Hand back").click()
    await winner.main.get_by_label("Note for the agent").fill("Refund of 20 euros granted.")
    await winner.main.get_by_role("form", name="Hand back").get_by_role("button", name="Hand back").click()
    await expect(winner.main).to_contain_text("No conversation is at your desks.")
    await expect(session(ada)).to_be_hidden()
    again, good = (ada.page.get_by_role("button", name=name) for name in ("Answer again", "Good answer"))
    for _ in range(2):  # as heard, and as stored
        await expect(again).to_have_count(0)
        await expect(good).to_have_count(1)
        await ada.page.reload()
        await expect(ada.locate_bodies("assistant")).to_have_count(len(answered) + 1)
    model.script(answers("You get 20 euros."))
    await ada.say("How much do I get?")
    await expect(ada.locate_bodies("assistant").last).to_have_text("You get 20 euros.")
    await expect(again).to_have_count(1)
    prompt = str(model.bodies[-1])
    assert all(text in prompt for text in (*messages, *answered[3:], "Refund of 20 euros granted."))
    await expect(ada.page.locator(".header .name")).to_have_text("Assistant")
    await expect(ada.page.get_by_text("Refund of 20 euros granted.")).to_have_count(0)


async def test_a_user_for_whom_nobody_is_there_learns_it_and_goes_on_with_the_agent(
    company: Company, model: FaultModel
) -> None:
    ada = await company.user()
    await expect(ada.page.get_by_text(re.compile("Complaints answers from .*9:00"))).to_be_visible()
    await talk_to(ada, "Complaints").click()
    await expect(ada.locate_bodies("assistant").last).to_contain_text("Complaints")
    await expect(session(ada)).to_be_hidden()

    await talk_to(ada, "Billing").click()
    await expect(session(ada)).to_contain_text("Waiting for a person: Billing.")
    await ada.say("Is anybody there?")
    await expect(ada.page.locator("article.user").last).to_contain_text("Delivered")
    await expect(session(ada)).to_be_hidden(timeout=NIGHT_SECONDS * 1000)
    model.script(answers("I can help you meanwhile."))
    await ada.say("What now?")
    await expect(ada.locate_bodies("assistant").last).to_have_text("I can help you meanwhile.")
    assert "Is anybody there?" in str(model.bodies[-1])
