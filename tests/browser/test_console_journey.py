"""An administrator's way from a complaint to a right answer: find it, see why, mend the document, run it again."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import FilePayload, Page, expect

from baton_local import web
from tests.browser.console import Console, say
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel, answers
from tests.fault_model.exchange import Exchange

expect.set_options(timeout=60_000)
QUESTION = "By which valve is the pump started?"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def from_the_document(exchange: Exchange) -> None:
    """A model that answers with the valve that its prompt names."""
    whole = str(exchange.received.prompts)
    await answers("By the red valve." if "opening the red valve" in whole else "By the blue valve.")(exchange)


async def test_a_wrong_answer_is_found_explained_and_mended(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    console = Console(page, cloud.url)
    main = console.main
    manual = FilePayload(name="pump.md", mimeType="", buffer=b"# Pump\n\nThe pump is started by opening the red valve.")

    await console.open("/documents")
    await console.sign_in(tenant)
    await main.get_by_role("link", name="Assistant", exact=True).click()
    await main.get_by_label("Choose files").set_input_files([manual])
    row = main.get_by_role("table", name="Documents").get_by_role("row")
    await expect(row.filter(has_text="pump.md")).to_contain_text("Ready")
    for text in ("Good morning", "What is the weather like?"):
        await say(cloud, tenant, "ben", str(uuid.uuid4()), text)
    model.script(*[from_the_document] * 2)
    session = str(uuid.uuid4())
    await say(cloud, tenant, "ada", session, QUESTION)

    # The conversation with the wrong answer is found by its user and opened.
    await console.open("/threads")
    rows = main.locator("tbody tr")
    await expect(rows).to_have_count(3)
    await main.get_by_role("textbox", name="User").fill("ada")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("link").click()
    await expect(main.get_by_role("option").filter(has_text="By the red valve.")).to_be_visible()

    # The inspector shows the passage that it rests on.
    await main.get_by_role("option").first.click()
    await main.get_by_role("link", name="Inspect").click()
    await main.locator("summary").filter(has_text="Knowledge").click()
    await expect(main.get_by_text("opening the red valve").first).to_be_visible()
    inspected = page.url

    # The document is mended.
    await console.open("/documents")
    await main.get_by_role("link", name="Assistant", exact=True).click()
    mended = FilePayload(
        name="pump.md", mimeType="", buffer=b"# Pump\n\nThe pump is started by opening the blue valve."
    )
    await main.get_by_label("Replace pump.md").set_input_files(mended)
    await expect(row.filter(has_text="version 2")).to_contain_text("Ready")

    # Run again, the turn is right.
    await page.goto(inspected)
    await main.get_by_role("button", name="Run again").click()
    await expect(main.get_by_role("heading", name="Answer of now")).to_be_visible()
    await expect(main.locator("run-again")).to_contain_text("By the blue valve.")
