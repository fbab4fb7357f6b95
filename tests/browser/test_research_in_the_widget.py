"""The widget on the demo page as somebody sees it who asks something that takes research."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import Page, expect

from tests.e2e.cloud import RunningCloud

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

QUESTION = "What are the best practices for error handling in Python agents?"


async def test_the_widget_shows_the_research_and_one_attributed_answer(page: Page, demo_cloud: RunningCloud) -> None:
    await page.add_init_script(f"localStorage.setItem('demo.tenant', 't-{uuid.uuid4().hex}')")
    await page.goto(demo_cloud.url)
    await page.get_by_role("textbox", name="Your message").fill(QUESTION)
    await page.keyboard.press("Enter")

    research = page.get_by_role("region", name="Consulted agents")
    await expect(research.locator(".label")).to_have_text("Consulted agents")
    await expect(research.get_by_role("listitem")).to_have_text(["Knowledge done", "Research done"])
    await expect(page.get_by_text("Called")).to_have_count(0)
    answer = page.locator("article.assistant")
    await expect(answer).to_have_count(1)
    await expect(answer.locator(".body")).to_contain_text("Based on my research, here are the best practices for error")
    await expect(answer.locator(".body")).to_contain_text("(Knowledge)")
    await expect(answer.locator(".body")).to_contain_text("(Research)")
    await expect(answer.get_by_text("Sources")).to_have_count(1)
    await expect(answer.locator(".sources li")).to_have_text(["Knowledge", "Research"])

    await page.reload()
    await expect(answer.locator(".body")).to_contain_text("(Knowledge)")
    await expect(research.get_by_role("listitem")).to_have_text(["Knowledge done", "Research done"])
    await expect(page.get_by_text("Called")).to_have_count(0)
