"""Networks that swallow packets without a word, as when a phone changes from one to another, and pages that sleep.

Both the widget and the page of the guide to embedding notice it, with their clocks run ahead by the test.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, WebSocket, expect

from baton_local import web
from tests.browser.lossy_proxy import LossyProxy
from tests.browser.screens import Screen, host_application, show_half_story
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import PATIENCE_SECONDS, Gate
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

NOTICED = 17
"""Seconds within which silence must be noticed while something is awaited, with the second that notices it."""
A_WHILE = 30
AN_HOUR = 3600


class Frames:
    """The counts of a page's frames and connections."""

    def __init__(self, page: Page) -> None:
        self.connections = self.sent = self.received = 0
        self._answered = asyncio.Event()
        self._answered.set()
        page.on("websocket", self._opened)

    @property
    def total(self) -> int:
        """Frames of both directions."""
        return self.sent + self.received

    async def run_on(self, screen: Screen, seconds: int) -> None:
        """Have the page's clock run on. The network is real: it gets a moment, and the time to answer each ping."""
        for _ in range(0, seconds, 5):
            await screen.pass_time(5)
            await screen.page.wait_for_timeout(20)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._answered.wait()

    def _opened(self, connection: WebSocket) -> None:
        self.connections += 1
        connection.on("framesent", self._sent)
        connection.on("framereceived", self._receive_frame)

    def _sent(self, frame: str | bytes) -> None:
        self.sent += 1
        if json.loads(frame) == {"action": "ping"}:
            self._answered.clear()

    def _receive_frame(self, frame: str | bytes) -> None:
        self.received += 1
        if json.loads(frame) == {"type": "PONG"}:
            self._answered.set()


@pytest.fixture
async def network(cloud: RunningCloud) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(cloud.url) as proxy:
        yield proxy


@pytest.fixture(params=["widget", "guide"])
async def screen(
    request: pytest.FixtureRequest, page: Page, network: LossyProxy, model: FaultModel, tmp_path: Path
) -> AsyncIterator[Screen]:
    """One of the two pages."""
    await page.clock.install()
    if request.param == "widget":
        web.build()
        yield Screen(page, network.url, "article.{role} .body", "[part=status] [role=status]")
    else:
        with host_application(tmp_path, network.url) as host:
            yield Screen(page, host.url, "li.{role}")


async def test_silence_in_a_run_is_noticed_and_the_answer_goes_on(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    gate = await show_half_story(screen, model)
    network.swallow_everything()
    gate.open()
    await screen.pass_time(NOTICED)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.pass_time(A_WHILE)
    await expect(screen.locate_bodies("assistant")).to_have_text([gate.text])
    await expect(screen.locate_bodies("user")).to_have_text(["Tell me a story"])
    await expect(screen.stop).to_be_hidden()
    await expect(screen.status).to_have_text("Connected")
    assert len(model.requests) == 1


async def test_a_network_that_is_lost_between_runs_is_noticed_by_the_next_message(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    await expect(screen.stop).to_be_hidden()
    network.swallow_everything()
    await screen.pass_time(A_WHILE)
    await expect(screen.status).to_have_text("Connected")
    await screen.say("Are you still there?")
    await screen.pass_time(NOTICED)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.pass_time(A_WHILE)
    await expect(screen.status).to_have_text("Connected")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "Are you still there?"])
    await expect(screen.locate_bodies("user")).to_have_text(["Hello", "Are you still there?"])
    assert len(model.requests) == 2


async def test_a_message_that_was_swallowed_is_sent_again_and_answered_once(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    network.swallow()
    await screen.say("Can you hear me?")
    await screen.pass_time(NOTICED)
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "Can you hear me?"])
    await expect(screen.locate_bodies("user")).to_have_text(["Hello", "Can you hear me?"])
    assert len(model.requests) == 2


async def test_an_acknowledgement_that_was_swallowed_makes_no_second_turn(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    gate = Gate("Yes, ", "I can.")
    model.script(gate.behaviour)
    network.swallow("answers")
    await screen.say("Can you hear me?")
    while not model.requests:
        await screen.page.wait_for_timeout(50)
    async with screen.page.expect_websocket():
        await screen.pass_time(NOTICED)
    gate.open()
    await expect(screen.locate_bodies("assistant")).to_have_text([gate.text])
    assert len(model.requests) == 1


async def test_a_request_to_stop_that_was_swallowed_is_sent_again(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    gate = await show_half_story(screen, model)
    network.swallow()
    await screen.stop.click()
    await screen.pass_time(NOTICED)
    await expect(screen.stop).to_be_hidden()
    gate.open()
    await screen.say("Thank you")
    await expect(screen.locate_bodies("assistant")).to_have_text(["It was a dark", "Thank you"])


async def test_connections_that_are_never_answered_are_given_up_until_one_is(
    screen: Screen, network: LossyProxy
) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    network.swallow_everything()
    await screen.say("Can you hear me?")
    for _ in range(3):  # handshakes, and tokens, hang
        await screen.pass_time(A_WHILE)
    await expect(screen.status).not_to_have_text("Connected")
    network.pass_again()
    await screen.pass_time(A_WHILE)
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "Can you hear me?"])


async def test_a_page_loaded_into_a_dead_network_comes_to_life_with_it(screen: Screen, model: FaultModel) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    gate = await show_half_story(screen, model)
    await screen.page.route("**/v1/threads/**", lambda route: route.abort())
    async with screen.page.expect_event("requestfailed"):
        await screen.page.reload()
    await expect(screen.locate_bodies("assistant")).to_have_count(0)
    await screen.page.unroute_all()
    await screen.pass_time(A_WHILE)
    await expect(screen.locate_bodies("user")).to_have_text(["Hello", "Tell me a story"])
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "It was a dark"])
    gate.open()
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", gate.text])


async def test_a_page_at_rest_takes_ten_frames_an_hour_at_most(screen: Screen) -> None:
    frames = Frames(screen.page)
    await screen.open()
    await say_hello(screen)
    await frames.run_on(screen, 60)  # the conversation gets its title
    before = frames.total
    await frames.run_on(screen, AN_HOUR)
    await expect(screen.status).to_have_text("Connected")
    assert 6 <= frames.total - before <= 10


async def test_a_page_that_is_hidden_gives_its_connection_up_until_it_shows(screen: Screen) -> None:
    frames = Frames(screen.page)
    socket = await screen.open()
    await say_hello(screen)
    async with socket.expect_event("close"):
        await screen.hide()
        await screen.pass_time(310)
    before = frames.total
    await screen.pass_time(AN_HOUR)
    assert (frames.total, frames.connections) == (before, 1)
    async with screen.page.expect_websocket():
        await screen.show()
    await screen.say("Are you still there?")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "Are you still there?"])


async def test_a_page_that_slept_reads_what_came_meanwhile_before_it_gives_up(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    frames = Frames(screen.page)
    await screen.open()
    gate = await show_half_story(screen, model)
    network.hold()
    request = frames.sent
    await screen.pass_time(10)
    assert frames.sent > request
    await screen.fall_asleep(AN_HOUR)
    network.release()
    gate.open()
    await expect(screen.locate_bodies("assistant")).to_have_text([gate.text])
    await expect(screen.status).to_have_text("Connected")
    assert frames.connections == 1


async def test_a_connection_that_died_while_the_page_slept_is_replaced(screen: Screen, network: LossyProxy) -> None:
    await screen.open()
    await say_hello(screen)
    network.swallow_everything()
    await screen.pass_time(A_WHILE)
    await screen.fall_asleep(AN_HOUR)
    await screen.pass_time(NOTICED)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.say("Are you still there?")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello", "Are you still there?"])


async def say_hello(screen: Screen) -> None:
    """Have a conversation that is at rest again."""
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Hello"])
    await expect(screen.stop).to_be_hidden()
