"""A model's visible thinking in the widget: a line above the answer that opens, and no part of the answer."""

from __future__ import annotations

import pytest
from ag_ui.core import RunFinishedCancelledOutcome
from playwright.async_api import Locator, Page, expect

from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.events import make_reasoning_content, make_reasoning_end, make_reasoning_start
from tests.browser.accessibility import violations
from tests.browser.harness import Harness, answer

ASSISTANT = AgentDefinition(id="assistant", name="Assistant", description="Answers.", system_prompt="Answer.")
THOUGHTS = "The user wants a **short** answer.\n\n- The capital is Vienna."
COPIED = "() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }"


@pytest.fixture
async def harness(page: Page) -> Harness:
    """The page, open and connected."""
    return await Harness(page).open()


def line(page: Page) -> Locator:
    """Return the tags that open and close the thoughts."""
    return page.locator("[part~=thinking-button]")


def thoughts(page: Page) -> Locator:
    """The thoughts themselves."""
    return page.locator("[part=thoughts]")


async def test_thinking_is_a_closed_line_above_the_answer_that_keys_open(page: Page, harness: Harness) -> None:
    await harness.begin("What is the capital of Austria?")
    await harness.play(*make_reasoning_start("th-1", ASSISTANT), *make_reasoning_content("th-1", THOUGHTS[:20]))
    await expect(line(page)).to_have_text("Thinking…")
    await expect(line(page)).to_have_attribute("aria-expanded", "false")
    await expect(thoughts(page)).to_be_hidden()
    await expect(page.locator("[part=typing]")).to_have_count(0)

    await line(page).focus()
    await page.keyboard.press("Enter")
    await expect(line(page)).to_have_attribute("aria-expanded", "true")
    await harness.play(*make_reasoning_content("th-1", THOUGHTS[20:]), *make_reasoning_end("th-1"))
    await expect(line(page)).to_have_text("Thought for a moment")
    await expect(thoughts(page).locator("strong")).to_have_text("short")
    await expect(thoughts(page).locator("li")).to_have_text("The capital is Vienna.")

    await harness.play(*answer("Vienna."))
    await harness.end()
    await expect(page.locator("article.assistant .body")).to_have_text("Vienna.")
    visible = page.locator(".items .item")
    roles = await visible.evaluate_all("items => items.map(({ localName }) => localName)")
    assert roles == ["baton-chat-message", "baton-chat-thinking", "baton-chat-message"]
    assert await violations(page) == []

    controlled = await line(page).get_attribute("aria-controls")
    assert await thoughts(page).get_attribute("id") == controlled
    await line(page).focus()
    await page.keyboard.press("Space")
    await expect(thoughts(page)).to_be_hidden()


async def test_the_copied_answer_has_no_thinking(page: Page, harness: Harness) -> None:
    await page.evaluate(COPIED)
    await harness.begin("What is the capital of Austria?")
    thinking = [
        *make_reasoning_start("th-1", ASSISTANT),
        *make_reasoning_content("th-1", THOUGHTS),
        *make_reasoning_end("th-1"),
    ]
    await harness.play(*thinking, *answer("Vienna."))
    await harness.end()
    await page.get_by_role("button", name="Copy answer").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("window.copied") == "Vienna."


async def test_a_stopped_thought_goes_on_no_more(page: Page, harness: Harness) -> None:
    await harness.begin("What is the capital of Austria?")
    await harness.play(*make_reasoning_start("th-1", ASSISTANT), *make_reasoning_content("th-1", THOUGHTS))
    await harness.end(RunFinishedCancelledOutcome(type="cancelled"))
    await expect(line(page)).to_have_text("Thought for a moment")
    await expect(page.locator(".thinking.busy")).to_have_count(0)
    await expect(page.locator(".note")).to_have_text("Stopped")
