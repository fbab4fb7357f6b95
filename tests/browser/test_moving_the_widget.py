"""The widget's element moved to another place of its page: it goes on as it was."""

from __future__ import annotations

import pytest
from ag_ui.core import TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, expect

from tests.browser.harness import Harness

pytestmark = pytest.mark.nightly

MOVE = "widget => widget.parentNode.append(widget)"
FROM_END = "box => Math.round(box.scrollHeight - box.clientHeight - box.scrollTop)"
LINES = "".join(f"Paragraph {number}\n\n" for number in range(60))


async def test_an_answer_in_progress_goes_on_over_the_same_connection_and_at_its_end(page: Page) -> None:
    harness = await Harness(page).open()
    await harness.begin("Tell me everything")
    started = TextMessageStartEvent(message_id="a-1", role="assistant", name="Assistant")
    await harness.play(started, TextMessageContentEvent(message_id="a-1", delta=LINES))
    paragraphs = page.locator("article.assistant p")
    await expect(paragraphs).to_have_count(60)
    connections = harness.connections
    await page.locator("baton-chat").evaluate(MOVE)
    scroller = page.locator(".scroller")
    assert await scroller.evaluate(FROM_END) <= 1
    await harness.play(TextMessageContentEvent(message_id="a-1", delta=LINES))
    await expect(paragraphs).to_have_count(120)
    await expect(page.get_by_text("Paragraph 59").last).to_be_in_viewport()
    await harness.play(TextMessageEndEvent(message_id="a-1"))
    await harness.end()
    await expect(harness.announced).to_contain_text("Paragraph 59")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert harness.connections == connections


async def test_a_reader_of_what_was_said_before_stays_there_in_another_conversation_than_the_pages(page: Page) -> None:
    harness = await Harness(page).open()
    await page.locator("baton-chat").evaluate("widget => widget.openConversation('another')")
    await harness.begin("Tell me everything")
    started = TextMessageStartEvent(message_id="a-1", role="assistant", name="Assistant")
    await harness.play(started, TextMessageContentEvent(message_id="a-1", delta=LINES))
    await expect(page.locator("article.assistant p")).to_have_count(60)
    latest = page.locator("[part~=latest-button]")
    scroller = page.locator(".scroller")
    await scroller.evaluate("box => { box.scrollTop = 200 }")
    await expect(latest).to_be_visible()
    await page.locator("baton-chat").evaluate(MOVE)
    assert await scroller.evaluate("box => box.scrollTop") == 200
    assert harness.thread_id == "another"
    await latest.click()
    await expect(page.get_by_text("Paragraph 59").last).to_be_in_viewport()


async def test_an_element_that_is_taken_away_ends_its_connection(page: Page) -> None:
    harness = await Harness(page).open()
    await page.evaluate("window.taken = document.querySelector('baton-chat')")
    await page.evaluate("taken.remove()")
    await page.evaluate("document.body.append(taken)")
    await harness.wait_until_connected()
    assert harness.connections == 2
