"""Unread answers in the widget: on the launcher, in the list of conversations, and marked once they were seen."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, Route, expect

from baton_local import web
from tests.browser.accessibility import violations
from tests.browser.harness import ORIGIN, Harness
from tests.browser.screens import HostApplication
from tests.browser.widget import Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import EMBED_GUIDE
from tests.fault_model import FaultModel, answers
from tests.unit.docs.pages import block

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

TENANT = "acme"
"""The tenant of the guide's site."""
AGENT = """\
id: assistant
name: Assistant
description: Helps customers of the shop.
main: true
system_prompt: You help customers of a shop.
events: [{type: order.shipped, instructions: Tell the user.}]
"""


@pytest.fixture(scope="module")
def shop(fault_model_server: FaultModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """A cloud whose assistant takes events, and which serves a build of the current sources."""
    web.build()
    agents: Path = tmp_path_factory.mktemp("agents")
    (agents / "assistant.yaml").write_text(AGENT)
    settings = {"BATON_EMBED_KEYS": block(EMBED_GUIDE, "embed_keys")}
    with RunningCloud(fault_model_server.base_url, agents=agents, settings=settings) as running:
        yield running


@pytest.fixture
def site(shop: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[HostApplication]:
    with foreign_site(tmp_path, shop.url) as running:
        yield running


async def session(page: Page) -> str:
    """The conversation that shows, and that this browser comes back to."""
    session_key = "Object.entries(localStorage).find(([key]) => key.startsWith('baton:session:'))[1]"
    thread_id: str = await page.evaluate(session_key)
    return thread_id


async def unread(shop: RunningCloud, thread_id: str) -> int:
    async with client(shop, "ada") as baton:
        count: int = (await baton.get(f"/v1/threads/{thread_id}")).raise_for_status().json()["unread"]
    return count


async def ship(shop: RunningCloud, model: FaultModel, thread_id: str, text: str) -> None:
    """Have an event begin a run in the conversation."""
    model.script(answers(text))
    event = {"eventId": str(uuid.uuid4()), "type": "order.shipped", "data": {"order": "4711"}, "userId": "ada"}
    async with client(shop, "shop", "event:send") as baton:
        (await baton.post(f"/v1/threads/{thread_id}/events", json=event)).raise_for_status()


def client(shop: RunningCloud, user: str, *permissions: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {shop.token(TENANT, user, *permissions)}"}
    return httpx.AsyncClient(base_url=shop.url, headers=headers, timeout=60, trust_env=False)


async def test_what_was_said_meanwhile_is_counted_until_it_was_seen(
    page: Page, site: HostApplication, shop: RunningCloud, model: FaultModel
) -> None:
    badge, thread_id = page.locator("[part=badge]"), site.session_id
    widget = Widget(page, site.url)
    await widget.open()
    model.script(answers("I will keep you posted."))
    await widget.say("Where is my order?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["I will keep you posted."])
    async with page.expect_response(lambda response: response.url.endswith("/read")) as marked:
        await page.get_by_role("button", name="Close chat").last.click()
    assert (await marked.value).status == 204
    assert await unread(shop, thread_id) == 0

    await page.goto("about:blank")
    await ship(shop, model, thread_id, "Your parcel is on its way.")
    while await unread(shop, thread_id) == 0:  # the event's run takes a moment
        await page.wait_for_timeout(100)
    await page.goto(site.url)
    await expect(badge).to_have_text("1")
    assert await violations(page) == []
    async with page.expect_response(lambda response: response.url.endswith("/read")) as marked:
        await page.get_by_role("button", name="Open chat. New messages: 1").click()
        await expect(widget.locate_bodies("assistant").last).to_have_text("Your parcel is on its way.")
    assert (await marked.value).status == 204
    assert await unread(shop, thread_id) == 0
    await page.get_by_role("button", name="Close chat").last.click()
    await expect(badge).to_be_hidden()


async def test_a_closed_panel_has_no_connection_and_hears_of_answers_when_somebody_is_at_the_page(
    page: Page, site: HostApplication, shop: RunningCloud, model: FaultModel
) -> None:
    badge, thread_id = page.locator("[part=badge]"), site.session_id
    widget = Widget(page, site.url)
    await page.clock.install()
    async with page.expect_websocket() as opened:
        await widget.open()
    model.script(answers("I will keep you posted."))
    await widget.say("Where is my order?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["I will keep you posted."])
    await expect(widget.stop).to_be_hidden()
    async with page.expect_response(lambda response: response.url.endswith("/read")):
        await page.get_by_role("button", name="Close chat").last.click()
    async with (await opened.value).expect_event("close"):
        await widget.pass_time(310)

    await ship(shop, model, thread_id, "Your parcel is on its way.")
    while await unread(shop, thread_id) == 0:  # the event's run takes a moment
        await page.wait_for_timeout(100)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if "/v1/" in request.url else None)
    await widget.pass_time(3600)
    assert requests == []
    await expect(badge).to_be_hidden()
    await page.mouse.click(5, 5)
    await expect(badge).to_have_text("1")
    await page.mouse.click(5, 5)
    assert len(requests) == 1
    async with page.expect_response(lambda response: response.url.endswith("/read")):
        await page.get_by_role("button", name="Open chat. New messages: 1").click()
        await expect(widget.locate_bodies("assistant").last).to_have_text("Your parcel is on its way.")
    await expect(badge).to_be_hidden()

    await page.evaluate("document.querySelector('baton-chat').remove()")
    requests.clear()
    await widget.pass_time(3600)
    await page.mouse.click(5, 5)
    assert requests == []


async def test_another_conversation_shows_in_the_list_and_on_the_launcher_at_once(
    page: Page, site: HostApplication, shop: RunningCloud, model: FaultModel
) -> None:
    badge = page.locator("[part=badge]")
    widget = Widget(page, site.url)
    await widget.open()
    await page.evaluate("document.querySelector('baton-chat').removeAttribute('session-id')")
    await expect(page.get_by_role("button", name="Conversations")).to_be_visible()
    await widget.wait_until_connected()
    model.script(answers("I will keep you posted."), answers("It is noon."))
    await widget.say("Where is my order?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["I will keep you posted."])
    await expect(widget.stop).to_be_hidden()  # what is still going on when its reader leaves is not read
    thread_id = await session(page)
    await page.get_by_role("button", name="New conversation").click()
    await widget.say("What time is it?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["It is noon."])

    await page.get_by_role("button", name="Conversations").click()
    line = page.locator(f"[data-id='{thread_id}']")
    await expect(line).to_be_visible()
    await expect(line.locator("[part=unread]")).to_have_count(0)
    await ship(shop, model, thread_id, "Your parcel is on its way.")
    await expect(line.locator("[part=unread]")).to_have_text("1")
    assert await violations(page) == []
    await page.get_by_role("button", name="Close chat").last.click()
    await expect(badge).to_have_text("1")
    await page.locator("[part=launcher]").click()
    await line.get_by_role("button").first.click()
    await expect(widget.locate_bodies("assistant").last).to_have_text("Your parcel is on its way.")
    await expect(badge).to_be_hidden()
    while await unread(shop, thread_id) > 0:  # once it has shown for a moment
        await page.wait_for_timeout(100)


@pytest.mark.parametrize(("unread_count", "text"), [(2, "2"), (12, "9+")])
async def test_a_new_conversation_shows_that_others_have_unread_answers(
    page: Page, unread_count: int, text: str
) -> None:
    other = {"id": "other", "title": "An order", "unread": unread_count, "lastActivityAt": "2026-05-01T08:00:00.000Z"}
    harness = await Harness(page, {"/v1/threads": {"items": [other], "nextCursor": None}}).open()
    button = page.get_by_role("button", name=f"Conversations. New messages: {text}", exact=True)
    await expect(button.locator("[part=badge]")).to_have_text(text)
    assert await violations(page) == []
    listed = asyncio.Event()

    async def answer_late(route: Route) -> None:
        await listed.wait()
        await route.fulfill(json=harness.answers["/v1/threads"])

    await page.route(f"{ORIGIN}/v1/threads?**", answer_late)
    await button.click()
    await expect(page.get_by_role("region", name="Conversations").get_by_text("Loading…")).to_be_visible()
    listed.set()
    await expect(page.get_by_role("listitem").get_by_text("An order")).to_be_visible()
    await expect(page.get_by_text("Loading…")).to_be_hidden()


async def test_a_message_that_nobody_has_taken_yet_is_being_sent(page: Page) -> None:
    harness = await Harness(page).open()
    frame = await harness.say("Hello")
    await expect(page.locator("article.user").get_by_text("Sending…")).to_be_visible()
    await harness.run(frame["messageId"], "Hello")
    await expect(page.locator("article.user").get_by_text("Sending…")).to_be_hidden()
