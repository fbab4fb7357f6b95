"""The widget over networks that swallow packets, and before a server that restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.lossy_proxy import LossyProxy
from tests.browser.screens import show_half_story
from tests.browser.widget import Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

NOTICED, A_WHILE = 17, 30
"""Seconds within which silence must be noticed while something is awaited, and longer."""


@pytest.fixture
async def network(cloud: RunningCloud) -> AsyncIterator[LossyProxy]:
    web.build()
    async with LossyProxy(cloud.url) as proxy:
        yield proxy


@pytest.fixture
async def widget(page: Page, network: LossyProxy, model: FaultModel, tmp_path: Path) -> AsyncIterator[Widget]:
    """The widget behind the network, with the page's clock in the hands of the test."""
    await page.clock.install()
    with foreign_site(tmp_path, network.url) as site:
        episode = Widget(page, site.url)
        await episode.open()
        yield episode


async def test_a_server_that_is_gone_for_a_while_in_mid_answer_goes_on_with_it(
    widget: Widget, network: LossyProxy, model: FaultModel
) -> None:
    gate = await show_half_story(widget, model)
    await network.go_away()
    gate.open()
    await widget.pass_time(NOTICED)
    await expect(widget.status).to_contain_text("No connection")
    await widget.stop_time()  # or the widget may connect before the button is clicked
    await expect(widget.status).to_contain_text("Trying again in")  # an attempt that was under way has failed
    await network.come_back()
    await widget.page.get_by_role("button", name="Try now").click()
    await widget.go_on()
    await widget.wait_until_connected()
    await expect(widget.locate_bodies("assistant")).to_have_text([gate.text])
    await expect(widget.locate_bodies("user")).to_have_text(["Tell me a story"])
    await expect(widget.stop).to_be_hidden()
    assert len(model.requests) == 1


async def test_what_is_said_without_a_network_is_sent_once_when_it_is_back(
    widget: Widget, network: LossyProxy, model: FaultModel
) -> None:
    network.swallow_everything()
    await widget.say("Hello")
    await widget.pass_time(A_WHILE)
    await expect(widget.page.locator("article.user .mark")).to_have_text("Will be sent when there is a connection")
    await widget.say("Anybody?")
    network.pass_again()
    await widget.pass_time(A_WHILE)
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello", "Anybody?"])
    await expect(widget.locate_bodies("user")).to_have_text(["Hello", "Anybody?"])
    await expect(widget.page.locator("article.user .mark")).to_have_count(0)
    assert len(model.requests) == 2
