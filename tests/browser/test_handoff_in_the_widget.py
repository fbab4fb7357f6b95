"""The widget on the demo page as somebody sees it who makes a skill, and somebody who does not want to any more."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import Locator, Page, expect

from tests.e2e.cloud import RunningCloud

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

REQUEST = "I want to create a skill that sends Slack alerts"


@pytest.fixture
async def open_page(page: Page, demo_cloud: RunningCloud) -> Page:
    """The page, used by a user of a separate tenant with the page's default permissions."""
    await page.add_init_script(f"localStorage.setItem('demo.tenant', 't-{uuid.uuid4().hex}')")
    await page.goto(demo_cloud.url)
    return page


async def say(page: Page, text: str, answers: int) -> None:
    """Send a message; wait until there are so many answers in all, each complete."""
    await page.get_by_role("textbox", name="Your message").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator("article.assistant .body[aria-busy=false]")).to_have_count(answers)
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def find_bodies(page: Page) -> Locator:
    """The bodies of what the agents said."""
    return page.locator("article.assistant .body")


async def check_step(page: Page, step: int, label: str) -> None:
    """Check that the page shows the workflow's step and the button that leaves it."""
    await expect(page.locator("[part=step]")).to_have_text(f"Step {step} of 4: {label}")
    await expect(page.get_by_role("progressbar")).to_have_js_property("value", step)
    await expect(page.get_by_role("button", name="Exit")).to_be_visible()
    await expect(page.locator(".header .name")).to_have_text("Skill Creation Assistant")


async def test_a_skill_is_made_in_front_of_the_readers_eyes(open_page: Page) -> None:
    page = open_page
    await page.get_by_role("button", name=REQUEST).click()
    await expect(find_bodies(page)).to_have_count(1)
    await expect(page.locator(".note.handoff")).to_have_text("You were connected with Skill Creation Assistant.")
    await check_step(page, 1, "Gathering Requirements")
    await say(page, "Post them to #ops, with the severity.", 2)
    await check_step(page, 2, "Defining Triggers")
    await say(page, "yes", 3)
    await check_step(page, 3, "Generating Skill")
    await expect(find_bodies(page).last.locator("pre")).to_contain_text("name: Slack Alert")
    await say(page, "looks good", 4)
    await check_step(page, 4, "Testing")

    await page.reload()
    await check_step(page, 4, "Testing")
    await expect(find_bodies(page)).to_have_count(4)
    await expect(page.locator(".note.handoff")).to_have_text("You were connected with Skill Creation Assistant.")

    await say(page, "yes", 6)
    await expect(find_bodies(page).nth(4)).to_have_text("Your skill is ready! Returning you to the main assistant.")
    await expect(page.locator(".note.return")).to_have_text("You are talking to Assistant again.")
    await expect(find_bodies(page).nth(5)).to_have_text("Great, your 'Slack Alert' skill is now active.")
    speakers = page.locator("article.assistant .author")
    await expect(speakers).to_have_text([*["Skill Creation Assistant"] * 5, "Assistant"])
    await expect(page.locator(".header .name")).to_have_text("Assistant")
    await expect(page.locator("[part=step]")).to_be_hidden()
    await expect(page.get_by_role("button", name="Exit")).to_be_hidden()

    await say(page, "Please send a Slack alert", 7)
    await expect(find_bodies(page).last).to_contain_text("I am following the skill Slack Alert")


async def test_a_skill_that_is_given_up_is_offered_again(open_page: Page) -> None:
    page = open_page
    await say(page, REQUEST, 1)
    await say(page, "nothing", 2)
    await say(page, "cancel", 4)
    await expect(find_bodies(page).nth(2)).to_have_text("No problem! Returning you to the main assistant.")
    await expect(find_bodies(page).nth(3)).to_have_text(
        "Let me know if you'd like to continue creating that skill later."
    )
    await expect(page.locator(".header .name")).to_have_text("Assistant")
    offer = page.locator(".offers button")
    await expect(offer).to_contain_text("Continue: your Slack Alert skillStep 2 of 4: Defining Triggers · left ")
    await expect(page.locator(".offers p")).to_have_text("You can continue at any time.")

    await page.get_by_role("button", name="End conversation").click()
    await expect(page.locator("footer .closed")).to_be_visible()
    await page.get_by_role("button", name="New conversation").click()
    await expect(find_bodies(page)).to_have_count(0)
    await expect(offer).to_contain_text("Continue: your Slack Alert skillStep 2 of 4: Defining Triggers · left ")
    await expect(page.locator(".offers p")).to_have_text("Welcome back. Continue where you left off?")
    await say(page, "Hello", 1)
    await expect(offer).to_have_count(0)
    await say(page, "continue", 2)
    await check_step(page, 2, "Defining Triggers")
    await expect(offer).to_have_count(0)


async def test_a_skill_goes_on_at_a_click_in_a_new_conversation(open_page: Page) -> None:
    page = open_page
    await say(page, REQUEST, 1)
    await say(page, "nothing", 2)
    await page.get_by_role("button", name="New conversation").click()
    await page.locator(".offers button").click()
    await check_step(page, 2, "Defining Triggers")
    await expect(find_bodies(page).first).to_contain_text("Let's go on with “Slack Alert”.")
