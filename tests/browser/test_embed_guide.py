"""The guide to embedding, followed to the letter: its key, its server and its page, against the local cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from baton_testing.fakes.threads.connections import events_in
from tests.browser.screens import HostApplication, Screen, host_application
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, calls_tools, unauthorized

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture
def host(cloud: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[HostApplication]:
    """The guide's host application, whose page talks to the product directly."""
    with host_application(tmp_path, cloud.url) as running:
        yield running


@pytest.fixture
async def screen(page: Page, host: HostApplication) -> Screen:
    """The guide's page, connected."""
    view = Screen(page, host.url, "li.{role}")
    await view.open()
    return view


async def test_a_conversation(screen: Screen, model: FaultModel) -> None:
    model.script(answers("Hello Ada."), unauthorized(), answers("You are Ada."))
    await screen.say("I am Ada.")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello Ada."])
    await screen.say("Anybody there?")
    await expect(screen.locate_bodies("problem")).to_contain_text(["The model did not accept the request."])
    await screen.say("Who am I?")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello Ada.", "You are Ada."])
    await screen.page.reload()
    await expect(screen.locate_bodies("user")).to_have_text(["I am Ada.", "Anybody there?", "Who am I?"])
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello Ada.", "You are Ada."])


async def test_a_reload_in_the_middle_of_an_answer_keeps_it_and_its_question(screen: Screen, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(answers("Hello."), gate.behaviour, answers("The next morning."))
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello."])
    await screen.say("Tell me a story")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello.", "It was a dark"])
    await screen.say("And then?")  # waits behind the running one
    await screen.page.reload()
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello.", "It was a dark"])
    await expect(screen.locate_bodies("user").nth(1)).to_be_visible()
    assert sorted(await screen.locate_bodies("user").all_inner_texts()) == ["And then?", "Hello", "Tell me a story"]
    await expect(screen.stop).to_be_visible()
    gate.open()
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello.", gate.text, "The next morning."])
    assert sorted(await screen.locate_bodies("user").all_inner_texts()) == ["And then?", "Hello", "Tell me a story"]
    assert len(model.requests) == 3


async def test_another_window_follows_the_answer_from_its_question_on(
    screen: Screen, host: HostApplication, model: FaultModel
) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await screen.say("Tell me a story")
    await expect(screen.locate_bodies("assistant")).to_have_text(["It was a dark"])
    other = Screen(await screen.page.context.new_page(), host.url, screen.bodies)
    await other.open()
    await expect(other.locate_bodies("user")).to_have_text(["Tell me a story"])
    await expect(other.locate_bodies("assistant")).to_have_text(["It was a dark"])
    gate.open()
    await expect(other.locate_bodies("assistant")).to_have_text([gate.text])


async def test_an_answer_is_stopped(screen: Screen, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await screen.say("Tell me a story")
    await expect(screen.locate_bodies("assistant")).to_have_text(["It was a dark"])
    await screen.stop.click()
    await expect(screen.stop).to_be_hidden()
    await screen.page.reload()
    await expect(screen.locate_bodies("assistant")).to_have_text(["It was a dark"])
    gate.open()


async def test_an_event_too_large_for_a_frame_is_joined_from_its_slices(
    page: Page, host: HostApplication, model: FaultModel
) -> None:
    screen = Screen(page, host.url, "li.{role}")
    connection = await screen.open()
    model.script(answers("That was long."))
    long = "So it goes on. " * 1895  # as large as a message may be, so that its RUN_STARTED is larger
    slices: list[str] = []
    connection.on("framereceived", lambda frame: slices.append(frame) if '"PART"' in frame else None)
    await screen.say(long)
    await expect(screen.locate_bodies("assistant")).to_have_text(["That was long."])
    await expect(screen.locate_bodies("user")).to_have_text([long.strip()])
    assert len(slices) > 1


async def test_a_message_too_large_for_a_frame_is_refused_and_the_next_one_answered(
    page: Page, host: HostApplication
) -> None:
    """API Gateway closes the connection on such a frame: sent again with each new one, it would never end."""
    screen = Screen(page, host.url, "li.{role}")
    await screen.open()
    await screen.say("So it goes on. " * 2_500)
    await expect(page.locator("li.problem")).to_have_text(["This message is too long."])
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    await expect(screen.locate_bodies("user")).to_have_text(["Hello"])


async def test_several_events_may_come_in_one_frame_and_again(page: Page, host: HostApplication) -> None:
    def send_twice(connection: WebSocketRoute) -> None:
        server = connection.connect_to_server()
        server.on_message(lambda frame: connection.send(json.dumps([*events_in(frame), *events_in(frame)])))

    await page.route_web_socket("**/ws", send_twice)
    await page.goto(host.url)
    screen = Screen(page, host.url, "li.{role}")
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])


@pytest.mark.parametrize(("answer", "value"), [("Yes", True), ("No", False)])
async def test_a_call_waits_for_an_answer_also_after_a_reload(
    page: Page, host: HostApplication, cloud: RunningCloud, model: FaultModel, answer: str, value: bool
) -> None:
    model.script(calls_tools(("delete_page", {"page": "p-1"}), text="One moment."), answers("That is settled."))
    authorization = {"Authorization": f"Bearer {host.token}"}
    request = {"sessionId": host.session_id, "message": "Delete page 1", "agentId": "careful"}
    async with httpx.AsyncClient(base_url=cloud.url, headers=authorization, timeout=60, trust_env=False) as product:
        assert (await product.post("/v1/messages", json=request)).json()["outcome"]["type"] == "interrupt"
        screen = Screen(page, host.url, "li.{role}")
        await screen.open()
        await page.get_by_role("button", name=answer, exact=True).click()
        await expect(screen.locate_bodies("assistant")).to_contain_text(["One moment.", "That is settled."])
        await expect(page.get_by_role("button", name=answer, exact=True)).to_be_hidden()
        calls = (await product.get(f"/v1/threads/{host.session_id}/tool-calls")).json()["items"]
    assert [call["toolName"] for call in calls] == ["delete_page"]
    assert ("refused" in (calls[0]["errorMessage"] or "")) is not value
