"""The examples on AG-UI interfaces with the demo model: what their READMEs have a reader try."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Page, expect

from tests.browser.examples import Example, build_example, serve_example
from tests.e2e.cloud import RunningCloud

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", params=["assistant-ui", "copilotkit"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, demo_cloud: RunningCloud
) -> Iterator[str]:
    """The address of each example."""
    with serve_example(build_example(request.param, tmp_path_factory.mktemp("example")), demo_cloud.url) as url:
        yield url


@pytest.fixture
async def example(page: Page, address: str) -> Example:
    """Each example in turn, opened."""
    screen = Example(page, address)
    await screen.open()
    return screen


async def test_research(example: Example) -> None:
    await example.say("Hello")
    await expect(example.answers).to_contain_text(["What would you like to talk about?"])
    await example.say("What are the best practices for error handling in Python agents?")
    await expect(example.answers.last).to_contain_text("Based on my research")
    research = example.page.get_by_role("region", name="research")
    await expect(research.get_by_role("listitem")).to_have_text(["Knowledge: completed", "Research: completed"])
    await example.page.reload()
    await expect(example.questions).to_have_count(2)
    await expect(example.answers.last).to_contain_text("Based on my research")


async def test_a_tool_of_the_page(example: Example) -> None:
    await example.say("Make the background light blue")
    await expect(example.answers.last).to_contain_text("The background is changed.")
    await expect(example.page.locator("body")).to_have_css("background-color", "rgb(173, 216, 230)")


async def test_a_handoff_and_its_workflow(example: Example) -> None:
    await example.say("I want to create a skill that sends Slack alerts")
    handoff = example.page.get_by_role("region", name="handoff")
    await expect(handoff).to_contain_text("Connecting you with Skill Creation Assistant...")
    await expect(example.agent).to_have_text("Skill Creation Assistant")
    step = example.page.locator("header .step")
    await expect(step).to_have_text("Step 1 of 4: Gathering Requirements")
    await example.say("Post them to #ops, with the severity.")
    await expect(step).to_have_text("Step 2 of 4: Defining Triggers")
    await example.page.reload()
    await expect(step).to_have_text("Step 2 of 4: Defining Triggers")
    await example.say("cancel")
    await expect(example.agent).to_have_text("Assistant")
    await expect(step).to_be_empty()
