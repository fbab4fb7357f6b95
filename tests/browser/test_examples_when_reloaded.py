"""The examples on AG-UI interfaces with a scripted model: approvals, other answers, and reloads in between."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import pytest
from playwright.async_api import Page, Request, Route, expect

from tests.browser.examples import Example, build_example, serve_example
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", params=["assistant-ui", "copilotkit"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, cloud: RunningCloud
) -> Iterator[str]:
    """The address of each example."""
    with serve_example(build_example(request.param, tmp_path_factory.mktemp("example")), cloud.url) as url:
        yield url


@pytest.fixture
def example(page: Page, address: str) -> Example:
    """Each example in turn."""
    return Example(page, address)


async def test_a_reload_in_the_middle_of_an_answer(example: Example, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(answers("Hello."), gate.behaviour)
    await example.open("careful")
    await example.say("Hello")
    await expect(example.answers).to_have_text(["Hello."])
    await example.say("Tell me a story")
    await expect(example.answers.last).to_have_text("It was a dark")
    await example.page.reload()
    await expect(example.answers).to_have_text(["Hello.", "It was a dark"])
    await expect(example.questions).to_have_text(["Hello", "Tell me a story"])
    gate.open()
    await expect(example.answers).to_have_text(["Hello.", gate.text])
    await example.say("Thanks")
    await expect(example.answers.last).to_have_text("Thanks")  # or it would take the answer of the next test


@pytest.mark.parametrize("read", ["thread", "messages"])
async def test_an_answer_that_is_stored_while_the_page_loads(example: Example, model: FaultModel, read: str) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await example.open("careful")
    await example.say("Tell me a story")
    await expect(example.answers.last).to_have_text("It was a dark")

    async def hold(route: Route) -> None:
        path = urlsplit(route.request.url).path
        asks_for = path.rpartition("/")[2]
        if gate.is_open or asks_for == "events" or (asks_for == "messages") != (read == "messages"):
            await route.continue_()
            return
        gate.open()
        await _is_answered(example.page, path.removesuffix("/messages"), route.request)
        await route.continue_()

    await example.page.route("**/v1/threads/**", hold)
    await example.page.reload()
    await expect(example.answers).to_have_text([gate.text])
    await expect(example.questions).to_have_text(["Tell me a story"])
    await expect(example.button("Send")).to_be_visible()


async def _is_answered(page: Page, path: str, request: Request) -> None:
    """Wait until no run is in progress in the conversation that is served at ``path``."""
    url = urlunsplit(urlsplit(request.url)._replace(path=f"{path}/events", query=""))
    headers = {"Authorization": request.headers["authorization"]}
    await page.request.get(url, headers=headers)  # the answer ends with the run


async def test_another_answer(example: Example, model: FaultModel) -> None:
    model.script(answers("One."), answers("Two."), answers("Three."))
    await example.open("careful")
    await example.say("Say a number")
    await expect(example.answers).to_have_text(["One."])
    await example.button("Regenerate").click()
    await expect(example.answers).to_have_text(["Two."])
    await example.page.reload()
    await expect(example.answers).to_have_text(["Two."])
    await example.button("Regenerate").click()
    await expect(example.answers).to_have_text(["Three."])


async def test_an_approval_outlives_a_reload(example: Example, model: FaultModel) -> None:
    model.script(calls_tools(("delete_page", {"page": "welcome"})), answers("I could not."))
    await example.open("careful")
    await example.say("Delete the welcome page")
    await expect(example.button("Approve")).to_be_visible()
    await example.page.reload()
    await example.button("Approve").click()
    await expect(example.answers.last).to_contain_text("I could not.")
    model.script(calls_tools(("delete_page", {"page": "index"})), answers("As you wish."))
    await example.say("Delete the index page")
    await example.button("Refuse").click()
    await expect(example.answers.last).to_have_text("As you wish.")
    assert "The user refused." in str(model.requests[-1].body["messages"][-1])
