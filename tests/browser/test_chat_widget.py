"""The widget on a foreign page with a strict policy, against the local cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from local import web
from tests.browser.widget import ForeignSite, Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, unauthorized

expect.set_options(timeout=60_000)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """What the local cloud serves is what the sources say."""
    web.build()


@pytest.fixture
def site(built: None, cloud: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[ForeignSite]:
    with foreign_site(tmp_path, cloud.url) as running:
        yield running


@pytest.fixture
async def widget(page: Page, site: ForeignSite) -> Widget:
    """The widget, open and connected."""
    shown = Widget(page, site.url)
    await shown.open()
    return shown


async def test_an_answer_comes_in_front_of_the_readers_eyes(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.said("user")).to_have_text(["Tell me a story"])
    await expect(widget.said("assistant")).to_have_text(["It was a dark"])
    await expect(widget.said("assistant")).to_have_attribute("aria-busy", "true")
    gate.open()
    await expect(widget.said("assistant")).to_have_text([gate.text])
    await expect(widget.said("assistant")).to_have_attribute("aria-busy", "false")
    await expect(widget.stop).to_be_hidden()


async def test_a_reload_in_the_middle_of_an_answer_keeps_it_and_its_question(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(answers("Hello."), gate.behaviour, answers("The next morning."))
    await widget.say("Hello")
    await expect(widget.said("assistant")).to_have_text(["Hello."])
    await widget.say("Tell me a story")
    await expect(widget.said("assistant")).to_have_text(["Hello.", "It was a dark"])
    await widget.say("And then?")  # waits behind the running one
    await widget.open()
    await expect(widget.said("assistant")).to_have_text(["Hello.", "It was a dark"])
    await expect(widget.said("user")).to_have_text(["Hello", "Tell me a story", "And then?"])
    gate.open()
    await expect(widget.said("assistant")).to_have_text(["Hello.", gate.text, "The next morning."])
    assert len(model.requests) == 3


async def test_escape_stops_an_answer(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.said("assistant")).to_have_text(["It was a dark"])
    await expect(widget.stop).to_be_visible()
    await widget.page.keyboard.press("Escape")
    await expect(widget.stop).to_be_hidden()
    await expect(widget.page.locator("article.assistant .mark")).to_have_text("Stopped")
    await widget.open()
    await expect(widget.said("assistant")).to_have_text(["It was a dark"])
    gate.open()


async def test_another_window_shows_the_same(widget: Widget, site: ForeignSite, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.said("assistant")).to_have_text(["It was a dark"])
    other = Widget(await widget.page.context.new_page(), site.url)
    await other.open()
    await expect(other.said("user")).to_have_text(["Tell me a story"])
    await expect(other.said("assistant")).to_have_text(["It was a dark"])
    gate.open()
    await expect(other.said("assistant")).to_have_text([gate.text])
    await other.say("Thanks")
    await expect(widget.said("user")).to_have_text(["Tell me a story", "Thanks"])


async def test_a_failed_answer_can_be_asked_for_again(widget: Widget, model: FaultModel) -> None:
    model.script(unauthorized(), answers("Here I am."))
    await widget.say("Anybody there?")
    await expect(widget.page.locator("[part=failure]")).to_contain_text("The model did not accept the request.")
