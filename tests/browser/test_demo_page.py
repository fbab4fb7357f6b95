"""The demo page of ``make run``: the widget, and what somebody needs beside it who tries Baton."""

from __future__ import annotations

import asyncio
import base64

import pytest
from ag_ui.core import ToolCallResultEvent, ToolCallStartEvent
from playwright.async_api import FilePayload, Page, Route, expect

from baton_local import web
from tests.browser.harness import SESSION, Harness, Json, answer, token
from tests.browser.widget import Widget
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

expect.set_options(timeout=60_000)

OPERATOR: Json = {"id": "operator", "name": "Operator", "description": "Reports outages.", "main": True}
WRITER: Json = {"id": "writer", "name": "Writer", "description": "Is asked by others.", "main": False}


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


@pytest.fixture
async def widget(page: Page, cloud: RunningCloud, model: FaultModel) -> Widget:
    """The widget on the page, connected."""
    screen = Widget(page, cloud.url)
    await page.goto(cloud.url)
    await screen.wait_until_connected()
    return screen


async def test_the_page_keeps_its_own_policy_and_asks_no_other_host(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    requests: list[str] = []
    reported: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: reported.append(message.text) if message.type == "error" else None)
    await page.goto(cloud.url)
    widget = Widget(page, cloud.url)
    await widget.say("**Hello** <b>you</b>")
    await expect(widget.locate_bodies("assistant").locator("b")).to_have_text("you")
    await page.get_by_text("Events", exact=True).click()
    await expect(page.locator("#events")).to_contain_text("RUN_FINISHED")
    assert [url for url in requests if not url.startswith((cloud.url, "data:"))] == []
    assert reported == []


@pytest.mark.nightly
async def test_what_is_said_before_the_widget_is_ready_waits_for_it(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    ready = asyncio.Event()

    async def hold(route: Route) -> None:
        await ready.wait()
        await route.continue_()

    await page.route("**/local/token", hold)
    widget = Widget(page, cloud.url)
    await page.goto(cloud.url)
    await widget.say("Too early")
    await expect(widget.input).to_have_value("Too early")
    ready.set()
    await expect(widget.locate_bodies("user")).to_have_text(["Too early"])
    await expect(widget.locate_bodies("assistant")).to_have_text(["Too early"])
    await expect(widget.input).to_have_value("")


@pytest.mark.nightly
async def test_a_conversation_that_was_ended_says_so_is_in_the_audit_and_reopens(widget: Widget) -> None:
    page = widget.page
    closed = page.get_by_text("This conversation is closed. Write a message to reopen it.")
    await widget.say("That is all")
    await expect(widget.locate_bodies("assistant")).to_have_text(["That is all"])
    await page.get_by_role("button", name="End conversation").click()
    await expect(closed).to_be_visible()
    await page.get_by_text("Audit", exact=True).click()
    await expect(page.locator("#records")).to_contain_text("thread.close closed, ada")
    await page.reload()
    await expect(closed).to_be_visible()
    await expect(page.locator(".items .item").last).to_have_text("You ended the conversation.")
    await widget.say("One more thing")
    await expect(widget.locate_bodies("assistant")).to_have_text(["That is all", "One more thing"])
    await expect(closed).to_be_hidden()


async def test_another_user_does_not_see_the_conversation(widget: Widget) -> None:
    await widget.say("For my eyes only")
    await expect(widget.locate_bodies("assistant")).to_have_text(["For my eyes only"])
    await widget.page.evaluate("localStorage.setItem('demo.user', 'somebody else')")
    await widget.page.reload()
    await widget.wait_until_connected()
    await expect(widget.locate_bodies("assistant")).to_have_count(0)


@pytest.mark.nightly
async def test_the_description_of_the_api_needs_no_other_host(page: Page, cloud: RunningCloud) -> None:
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: messages.append(str(error)))
    answer = await page.goto(f"{cloud.url}/v1/docs")
    await expect(page.get_by_role("heading", name="Baton").first).to_be_visible()
    await page.get_by_text("/v1/threads/{thread_id}/close").click()
    await expect(page.get_by_role("button", name="Try it out")).to_be_visible()
    assert answer is not None
    assert "script-src 'self' 'sha256-" in answer.headers["content-security-policy"]
    assert messages == []
    assert [url for url in requests if not url.startswith((cloud.url, "data:"))] == []


@pytest.mark.nightly
async def test_the_reader_can_be_somebody_else_with_permissions(page: Page) -> None:
    await Harness(page).open()
    await page.get_by_text("Be somebody else").click()
    await page.get_by_label("User").fill("grace")
    await page.get_by_label("Permissions").fill("agent:write audit:read")
    async with page.expect_request("**/local/token") as requests:
        await page.get_by_role("button", name="Use these").click()
    request = await requests.value
    assert request.post_data_json == {"tenant": "demo", "user": "grace", "permissions": "agent:write audit:read"}
    await expect(page.locator("#who")).to_have_text("grace of tenant demo")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("about", "words", "is_offline"),
    [
        ({"model": "baton-demo", "isDemoModel": True}, "the offline demo model", True),
        ({"model": "llama3.2", "isDemoModel": False}, "llama3.2", False),
    ],
)
async def test_the_page_says_who_you_are_and_what_answers(
    page: Page, about: Json, words: str, is_offline: bool
) -> None:
    await Harness(page, {"/local/about": about}).open()
    side = page.get_by_role("complementary")
    await expect(side).to_contain_text("You are ada of tenant demo")
    await expect(side).to_contain_text(f"Answers come from {words}")
    await expect(side.get_by_role("link", name="API")).to_have_attribute("href", "/v1/docs")
    await expect(page.locator("#offline")).to_be_visible(visible=is_offline)


@pytest.mark.nightly
@pytest.mark.parametrize("has_own", [True, False])
async def test_sentences_are_proposed_only_to_the_agents_that_come_with_baton(page: Page, has_own: bool) -> None:
    about = {"model": "baton-demo", "isDemoModel": True, "hasOwnAgents": has_own}
    await Harness(page, {"/local/about": about}).open()
    await expect(page.locator("#offline")).to_be_visible()
    await expect(page.get_by_role("button", name="What can you do?")).to_be_visible(visible=not has_own)


async def test_the_page_of_a_project_shows_its_agent_what_to_say_and_a_tool_that_failed(page: Page) -> None:
    guide: Json = OPERATOR | {"id": "guide", "name": "Rental", "handoffs": [{"agent": "damage"}]}
    damage: Json = {"id": "damage", "name": "Damage", "description": "Takes reports.", "main": False}
    about: Json = {"hasOwnAgents": True, "project": "velo", "agent": "guide"}
    agents = [OPERATOR, guide, damage | {"triggers": ["report damage", "scratch"]}]
    harness = await Harness(page, {"/local/about": about, "/v1/agents": {"items": agents}}).open()
    await expect(page.get_by_role("heading", name="velo")).to_be_visible()
    await expect(harness.agent).to_have_text("Rental")
    suggestions = page.locator("#suggestions").get_by_role("button")
    await expect(suggestions).to_have_text(["What can you do?", "Report damage"])
    failure = page.locator("#failure")
    await expect(failure).to_be_hidden()

    await suggestions.last.click()
    message = await harness.take_frame("message")
    await harness.run(message["messageId"], "Report damage")
    text = "Tool book failed: /velo/agents/rental.py:24: KeyError: 'terrace'"
    harness.answers["/local/about"] = about | {"toolFailures": [{"at": "2026-11-29T00:06:14+00:00", "text": text}]}
    result = ToolCallResultEvent(message_id="r-1", tool_call_id="c-1", content="Error", metadata={"outcome": "failed"})
    await harness.play(ToolCallStartEvent(tool_call_id="c-1", tool_call_name="book"), result)
    await expect(failure).to_contain_text(text)


@pytest.mark.nightly
async def test_a_user_who_comes_back_from_the_editor_sees_why_an_edit_is_not_in_use(page: Page) -> None:
    harness = await Harness(page).open()
    alert = page.get_by_role("complementary").get_by_role("alert")
    await expect(alert).to_be_hidden()
    problem = "agents/tutor.yaml:5: mian: there is no such field (did you mean main?)"
    harness.answers["/local/about"] = {"reload": {"version": 1, "problems": [problem]}}
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(alert).to_contain_text(problem)


@pytest.mark.nightly
async def test_a_conversation_begins_with_the_agent_that_was_chosen(page: Page) -> None:
    harness = await Harness(page, {"/v1/agents": {"items": [OPERATOR, WRITER]}}).open()
    choice = page.get_by_label("New conversations begin with")
    await expect(choice.get_by_role("option")).to_have_text(["the usual agent", "Operator"])
    before = await read_session(page)
    await choice.select_option("Operator")
    while await read_session(page) == before:
        await page.wait_for_timeout(20)
    await harness.wait_until_connected()
    assert (await harness.say("Report an outage"))["agentId"] == "operator"

    await choice.select_option("the usual agent")
    await expect(page.locator("article")).to_have_count(0)
    await harness.wait_until_connected()
    assert "agentId" not in await harness.say("Something else")


@pytest.mark.nightly
async def test_nothing_of_the_person_before_is_left_on_the_page(page: Page) -> None:
    harness = await Harness(page, {"/v1/agents": {"items": [OPERATOR | {"name": "Ada's agent"}]}}).open()
    await harness.begin("Ada's question")
    await harness.play(*answer("Ada's answer"))
    await harness.end()
    await expect(harness.announced).to_have_text("Assistant: Ada's answer")
    await harness.say("Ada's unanswered question")
    await page.get_by_role("textbox", name="Your message").fill("Ada's draft")
    file: FilePayload = {"name": "ada.txt", "mimeType": "text/plain", "buffer": b"Ada's file"}
    await page.locator("input.chooser").set_input_files(file)

    # Not even if the server does not answer.
    del harness.answers["/v1/agents"]
    harness.answers["/local/token"] = {"token": token("grace")}
    await page.get_by_text("Be somebody else").click()
    await page.get_by_label("User").fill("grace")
    await page.get_by_role("button", name="Use these").click()

    await expect(page.locator("#who")).to_have_text("grace of tenant demo")
    await harness.wait_until_connected()
    await expect(page.locator("article")).to_have_count(0)
    for text in ["Ada's", "ada.txt"]:
        await expect(page.get_by_text(text)).to_have_count(0)
    await expect(page.locator("#events li")).to_have_count(0)
    await expect(page.get_by_role("textbox", name="Your message")).to_have_value("")
    assert "Ada's" not in await page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")


@pytest.mark.nightly
async def test_a_picture_that_is_uploaded_is_seen_at_once(widget: Widget, model: FaultModel) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    large = base64.b64decode(pixel) + bytes(30_000)
    file: FilePayload = {"name": "large.png", "mimeType": "image/png", "buffer": large}
    await widget.page.locator("input.chooser").set_input_files(file)
    await widget.say("What is this?")
    await expect(widget.page.locator("article.user img[alt='large.png'][src^='blob:']")).to_be_visible()


async def read_session(page: Page) -> str:
    """The id of the conversation that the browser would come back to."""
    stored: str = await page.evaluate(f"localStorage.getItem('{SESSION}')")
    return stored
