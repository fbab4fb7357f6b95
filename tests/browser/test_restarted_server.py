"""The widget before a server that is killed in the middle of an answer, and started again with its data."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from baton_local.root import ROOT
from tests.browser.widget import Widget
from tests.integration.make_run.program import kill_everything, running

pytestmark = pytest.mark.nightly

expect.set_options(timeout=120_000)

REQUEST = "Please write 300 words about lighthouses."


async def test_an_answer_goes_on_after_its_server_was_killed_and_started_again(page: Page, tmp_path: Path) -> None:
    settings = {"BATON_DATA_DIR": str(tmp_path), "BATON_DEMO_DELAY_MS": "20"}
    with running(ROOT / "template.yaml", **settings) as (process, url):
        settings["PORT"] = url.rpartition(":")[2]
        widget = Widget(page, url)
        await page.goto(url)
        await widget.wait_until_connected()
        await widget.say(REQUEST)
        await expect(widget.locate_bodies("assistant")).to_contain_text("lighthouses")
        kill_everything(process)
        await expect(widget.status).to_contain_text("No connection")
    with running(ROOT / "template.yaml", **settings):
        await widget.wait_until_connected()
        await expect(widget.stop).to_be_hidden()
        await widget.say("What is 2 + 1?")
        await expect(widget.locate_bodies("assistant").last).to_contain_text("3")
        await expect(widget.stop).to_be_hidden()
        messages = [await widget.locate_bodies(role).all_inner_texts() for role in ("user", "assistant")]
        assert messages[0] == [REQUEST, "What is 2 + 1?"]
        assert len(messages[1]) == 2
        await page.reload()
        await widget.wait_until_connected()
        await expect(widget.locate_bodies("assistant")).to_have_count(2)
        assert [await widget.locate_bodies(role).all_inner_texts() for role in ("user", "assistant")] == messages
