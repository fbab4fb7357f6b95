"""Networks that swallow packets without a word, as when a phone changes from one to another, and pages that sleep.

Both the widget and the page of the guide to embedding notice it, with their clocks run ahead by the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, WebSocket, expect

from baton_local import web
from tests.browser.lossy_proxy import LossyProxy
from tests.browser.screens import Screen, half_a_story, host_application
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import PATIENCE_SECONDS, Gate
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

IN_A_RUN, OTHERWISE = 15, 30
"""Seconds within which silence must be noticed."""
UNTIL_ASKED = 22
"""Seconds of silence after which a page at rest has sent a ping, and still waits for the answer."""
AN_HOUR = 3600


class Pings:
    """The counts of what the page asks of its connections, and what it is answered."""

    def __init__(self, page: Page) -> None:
        self.connections = self.sent = self.unanswered = 0
        self._answered = asyncio.Event()
        page.on("websocket", self._opened)

    async def answered(self) -> None:
        """Wait until every ping is answered."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._answered.wait()

    def _opened(self, connection: WebSocket) -> None:
        self.connections += 1
        connection.on("framesent", lambda frame: self._count(1) if '"ping"' in frame else None)
        connection.on("framereceived", lambda frame: self._count(-1) if '"PONG"' in frame else None)

    def _count(self, change: int) -> None:
        self.unanswered += change
        self.sent += max(change, 0)
        if self.unanswered:
            self._answered.clear()
        else:
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
    gate = await half_a_story(screen, model)
    network.swallow_everything()
    gate.open()
    await screen.pass_time(IN_A_RUN)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.pass_time(OTHERWISE)
    await expect(screen.said("assistant")).to_have_text([gate.text])
    await expect(screen.said("user")).to_have_text(["Tell me a story"])
    await expect(screen.stop).to_be_hidden()
    await expect(screen.status).to_have_text("Connected")
    assert len(model.requests) == 1


async def test_silence_between_runs_is_noticed(screen: Screen, network: LossyProxy) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.said("assistant")).to_have_text(["Hello"])
    network.swallow_everything()
    await screen.pass_time(OTHERWISE)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.pass_time(OTHERWISE)
    await expect(screen.status).to_have_text("Connected")
    await screen.say("Are you still there?")
    await expect(screen.said("assistant")).to_have_text(["Hello", "Are you still there?"])


async def test_a_message_that_was_swallowed_is_sent_again_and_answered_once(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.said("assistant")).to_have_text(["Hello"])
    network.swallow()
    await screen.say("Can you hear me?")
    await screen.pass_time(IN_A_RUN)
    await expect(screen.said("assistant")).to_have_text(["Hello", "Can you hear me?"])
    await expect(screen.said("user")).to_have_text(["Hello", "Can you hear me?"])
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
        await screen.pass_time(IN_A_RUN)
    gate.open()
    await expect(screen.said("assistant")).to_have_text([gate.text])
    assert len(model.requests) == 1


async def test_a_request_to_stop_that_was_swallowed_is_sent_again(
    screen: Screen, network: LossyProxy, model: FaultModel
) -> None:
    await screen.open()
    gate = await half_a_story(screen, model)
    network.swallow()
    await screen.stop.click()
    await screen.pass_time(IN_A_RUN)
    await expect(screen.stop).to_be_hidden()
    gate.open()
    await screen.say("Thank you")
    await expect(screen.said("assistant")).to_have_text(["It was a dark", "Thank you"])


async def test_connections_that_are_never_answered_are_given_up_until_one_is(
    screen: Screen, network: LossyProxy
) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.said("assistant")).to_have_text(["Hello"])
    network.swallow_everything()
    await screen.say("Can you hear me?")
    for _ in range(3):  # handshakes, and tokens, hang
        await screen.pass_time(OTHERWISE)
    await expect(screen.status).not_to_have_text("Connected")
    network.pass_again()
    await screen.pass_time(OTHERWISE)
    await expect(screen.said("assistant")).to_have_text(["Hello", "Can you hear me?"])


async def test_a_page_loaded_into_a_dead_network_comes_to_life_with_it(screen: Screen, model: FaultModel) -> None:
    await screen.open()
    await screen.say("Hello")
    await expect(screen.said("assistant")).to_have_text(["Hello"])
    gate = await half_a_story(screen, model)
    await screen.page.route("**/v1/threads/**", lambda route: route.abort())
    async with screen.page.expect_event("requestfailed"):
        await screen.page.reload()
    await expect(screen.said("assistant")).to_have_count(0)
    await screen.page.unroute_all()
    await screen.pass_time(OTHERWISE)
    await expect(screen.said("user")).to_have_text(["Hello", "Tell me a story"])
    await expect(screen.said("assistant")).to_have_text(["Hello", "It was a dark"])
    gate.open()
    await expect(screen.said("assistant")).to_have_text(["Hello", gate.text])


async def test_a_connection_that_answers_is_kept_however_little_is_said(screen: Screen) -> None:
    pings = Pings(screen.page)
    await screen.open()
    await said_hello(screen, pings)
    before = pings.sent
    while pings.sent < before + 4:
        await screen.pass_time(1)
        await pings.answered()  # the network is real: it takes a moment, not one of the page's seconds
    await expect(screen.status).to_have_text("Connected")
    assert pings.connections == 1


async def test_a_page_that_slept_reads_what_came_meanwhile_before_it_gives_up(
    screen: Screen, network: LossyProxy
) -> None:
    pings = Pings(screen.page)
    await screen.open()
    await said_hello(screen, pings)
    network.hold()
    await screen.pass_time(UNTIL_ASKED)
    assert pings.unanswered == 1
    await screen.fall_asleep(AN_HOUR)
    network.release()
    await pings.answered()
    await expect(screen.status).to_have_text("Connected")
    assert pings.connections == 1


async def test_a_connection_that_died_while_the_page_slept_is_replaced(screen: Screen, network: LossyProxy) -> None:
    pings = Pings(screen.page)
    await screen.open()
    await said_hello(screen, pings)
    network.swallow_everything()
    await screen.pass_time(UNTIL_ASKED)
    await screen.fall_asleep(AN_HOUR)
    await screen.pass_time(IN_A_RUN)
    assert await screen.status.text_content() != "Connected"
    network.pass_again()
    await screen.say("Are you still there?")
    await expect(screen.said("assistant")).to_have_text(["Hello", "Are you still there?"])


async def said_hello(screen: Screen, pings: Pings) -> None:
    """Have a conversation that is at rest again, with every ping answered."""
    await screen.say("Hello")
    await expect(screen.said("assistant")).to_have_text(["Hello"])
    await expect(screen.stop).to_be_hidden()
    await pings.answered()
