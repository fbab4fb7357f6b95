"""Reminders and work in the background, whose user closes the page, comes back and replies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.accessibility import violations
from tests.browser.console import Console
from tests.browser.screens import HostApplication
from tests.browser.widget import Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import EMBED_GUIDE
from tests.unit.docs.pages import block

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

NINE = datetime.combine(datetime.now(UTC) + timedelta(days=1), time(9), UTC)

AGENTS = {
    "assistant.yaml": """\
id: assistant
name: Assistant
description: Plans the day.
main: true
system_prompt: Help the user to plan the day.
schedules: {allowed: true}
sub_agents: [{agent: researcher, background: true}, {agent: archivist, background: true}]
""",
    "researcher.yaml": """\
id: researcher
name: Researcher
description: Researches a question for as long as it takes.
system_prompt: Research the question.
""",
    "archivist.yaml": """\
id: archivist
name: Archivist
description: Looks things up in the archive, with the consent of a person.
system_prompt: Look it up.
tools:
  - type: http
    name: look_up
    description: Looks it up.
    method: POST
    url: http://127.0.0.1:9/
    requires_approval: true
""",
}
SCRIPT = """\
scenes:
  message:
    - task: episode_summary
      say: A summary.
    - task: episode_facts
      say: '{"facts": []}'
    - task: fact_changes
      say: '{"pairs": []}'
    - agent: researcher
      say: The ferry leaves at noon.
    - says: 'scheduled for the user: "(?P<task>[^"]*)"'
      say: 'A reminder: {{ task }}'
    - says: 'no instruction: "(?P<report>[^"]*)"'
      say: 'The research is done. {{ report }}'
    - says: remind me tomorrow at nine
      call:
        schedule: {text: Call the bank., at: 'DAYT09:00'}
    - says: move it to ten
      if: '"Call the bank." in before'
      call:
        schedule: {text: Call the bank., at: 'DAYT10:00'}
    - agent: archivist
      call:
        look_up: {}
    - says: ask the archive
      call:
        ask_archivist: {message: When did the ferry leave?}
    - says: research this
      call:
        ask_researcher: {message: When does the ferry leave?}
    - say: Well.
  result:
    - after: schedule
      say: 'I will, on {{ results[-1].json[0].next }}.'
    - say: I will be back.
"""


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """A cloud with an assistant that comes back by itself."""
    web.build()
    folder: Path = tmp_path_factory.mktemp("planner")
    (folder / "agents").mkdir()
    for name, text in AGENTS.items():
        (folder / "agents" / name).write_text(text)
    script = folder / "demo.yaml"
    script.write_text(SCRIPT.replace("DAY", f"{NINE:%Y-%m-%d}"))
    settings = {
        "BATON_DEMO_SCRIPT": str(script),
        "BATON_DEMO_DELAY_MS": "1",
        "BATON_EMBED_KEYS": block(EMBED_GUIDE, "embed_keys"),
    }
    with RunningCloud(agents=folder / "agents", settings=settings) as running:
        yield running


@pytest.fixture
def site(planner: RunningCloud, tmp_path: Path) -> Iterator[HostApplication]:
    with foreign_site(tmp_path, planner.url) as running:
        yield running


async def pass_until(planner: RunningCloud, moment: datetime) -> None:
    """Have time pass for the server, with what becomes due meanwhile."""
    async with httpx.AsyncClient(base_url=planner.url, timeout=120, trust_env=False) as client:
        now = (await client.post("/local/clock", json={"advanceSeconds": 1})).raise_for_status().json()["now"]
        seconds = int((moment - datetime.fromisoformat(now)).total_seconds())
        (await client.post("/local/clock", json={"advanceSeconds": seconds})).raise_for_status()


async def read(planner: RunningCloud, path: str) -> Any:
    """Read ``path`` as the user does."""
    headers = {"Authorization": f"Bearer {planner.token('acme', 'ada')}"}
    async with httpx.AsyncClient(base_url=planner.url, headers=headers, trust_env=False) as client:
        return (await client.get(path)).raise_for_status().json()


async def wait_for_answers(planner: RunningCloud, thread_id: str, texts: list[str]) -> None:
    """Wait until the conversation has each of ``texts``: a run takes a moment."""
    stored: set[str] = set()
    while not stored.issuperset(texts):
        await asyncio.sleep(0.1)
        stored = {message["content"] for message in (await read(planner, f"/v1/threads/{thread_id}/messages"))["items"]}


async def test_a_user_sees_and_cancels_work_in_the_background(
    page: Page, site: HostApplication, planner: RunningCloud
) -> None:
    widget = Widget(page, site.url)
    await widget.open()
    await widget.say("Ask the archive")
    await expect(widget.locate_bodies("assistant")).to_have_text(["I will be back."])
    await expect(page.get_by_role("region", name="Consulted agents")).to_contain_text("Archivist In the background")
    tasks = page.get_by_role("region", name="In the background")
    await expect(tasks.get_by_role("listitem")).to_contain_text("Archivist waits")
    assert await violations(page) == []
    await page.reload()
    await page.get_by_role("button", name="Open chat").click()
    await expect(page.get_by_role("region", name="Consulted agents")).to_contain_text("Archivist In the background")
    await tasks.get_by_role("button", name="Cancel: Archivist").click()
    await expect(tasks).to_be_hidden()
    await expect(page.get_by_role("region", name="Consulted agents")).to_contain_text("Archivist Stopped")
    await widget.say("Ask the archive")
    await expect(tasks.get_by_role("listitem")).to_contain_text("Archivist waits")
    console = Console(await page.context.new_page(), planner.url)
    await console.open(f"/threads/{site.session_id}")
    await console.sign_in("acme", "ada", "thread:read_all")
    rows = console.main.get_by_role("region", name="Work in the background").get_by_role("row")
    await expect(rows).to_contain_text(["Task", "waits for an approval", "cancelled"])
    await rows.get_by_role("button", name="Cancel the task").click()
    await rows.get_by_role("alertdialog").get_by_role("button", name="Cancel the task").click()
    await expect(rows).to_contain_text(["Task", "cancelled", "cancelled"])
    await expect(tasks).to_be_hidden()


async def test_what_was_begun_comes_back_once_while_the_page_is_closed(
    page: Page, site: HostApplication, planner: RunningCloud
) -> None:
    widget = Widget(page, site.url)
    await widget.open()
    await widget.say("Remind me tomorrow at nine to call the bank")
    await expect(widget.locate_bodies("assistant")).to_contain_text(["I will, on"])
    await widget.say("Research this in the background, I will be back")
    await expect(widget.locate_bodies("assistant").nth(1)).to_have_text("I will be back.")
    await page.goto("about:blank")
    await pass_until(planner, NINE + timedelta(minutes=1))
    back = ["The research is done. The ferry leaves at noon.", "A reminder: Call the bank."]
    await wait_for_answers(planner, site.session_id, back)

    await page.goto(site.url)
    # The reminder is unread for certain. The research may end, and its begin may be unread, just as the user leaves.
    await expect(page.locator("[part=badge]")).to_have_text(re.compile("^[123]$"))
    await page.get_by_role("button", name="Open chat").click()
    await expect(widget.locate_bodies("assistant").filter(has_text="research is done")).to_have_text(back[:1])
    await expect(widget.locate_bodies("assistant").filter(has_text="A reminder")).to_have_text(back[1:])
    await expect(page.get_by_role("region", name="Consulted agents")).to_contain_text("Researcher done")
    await widget.say("Move it to ten")
    await expect(widget.locate_bodies("assistant").last).to_contain_text("10:00")
    await pass_until(planner, NINE + timedelta(minutes=61))
    await expect(widget.locate_bodies("assistant").filter(has_text="A reminder")).to_have_text(back[1:] * 2)
