"""The widget's features around the conversation: tools of the page, tabs, the list of conversations, the launcher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.accessibility import violations
from tests.browser.screens import HostApplication, show_half_story
from tests.browser.widget import Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

PAINT = """() => {
  window.painted = [];
  const parameters = { type: "object", properties: { colour: { type: "string" } } };
  const run = ({ colour }) => {
    if (colour === "plaid") throw new Error("no such paint");
    painted.push(colour);
    return { painted: colour };
  };
  const chat = document.querySelector("baton-chat");
  chat.tools = [{ name: "paint", description: "Paints the page.", parameters, run }];
  chat.context = () => [{ description: "The page", value: { colour: painted.at(-1) ?? "white" } }];
}"""


@pytest.fixture
def site(cloud: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[HostApplication]:
    web.build()
    with foreign_site(tmp_path, cloud.url) as running:
        yield running


@pytest.fixture
async def widget(page: Page, site: HostApplication) -> Widget:
    """The widget, open and connected."""
    screen = Widget(page, site.url)
    await screen.open()
    return screen


async def test_the_agent_uses_tools_of_the_page_in_one_tab(
    widget: Widget, site: HostApplication, model: FaultModel
) -> None:
    other = Widget(await widget.page.context.new_page(), site.url)
    await other.open()
    for page in (widget.page, other.page):
        await page.evaluate(PAINT)
    model.script(calls_tools(("paint", {"colour": "red"})), answers("It is red."))
    await widget.say("Make it red")
    for item in (widget, other):
        await expect(item.locate_bodies("assistant")).to_have_text(["It is red."])
    painted = [await page.evaluate("painted") for page in (widget.page, other.page)]
    assert sorted(painted) == [[], ["red"]]
    assert '"colour":"white"' in str(model.requests[0].body["messages"]).replace("\\", "")
    model.script(calls_tools(("paint", {"colour": "plaid"})), answers("There is no plaid."))
    await widget.say("Make it plaid")
    await expect(widget.locate_bodies("assistant").last).to_have_text("There is no plaid.")
    assert "no such paint" in str(model.requests[-1].body["messages"][-1])


async def test_a_page_without_the_tool_waits_and_a_reload_goes_on(widget: Widget, model: FaultModel) -> None:
    page = widget.page
    await page.evaluate(PAINT)
    hanging = "() => { document.querySelector('baton-chat').tools[0].run = () => new Promise(() => {}); }"
    await page.evaluate(hanging)
    model.script(calls_tools(("paint", {"colour": "red"})), answers("It is red."))
    await widget.say("Make it red")
    await expect(page.locator("[part=call]")).to_contain_text("paint is running in this window")
    await widget.open()
    await expect(page.locator("[part=call]")).to_contain_text("Waiting for an action in another window: paint")
    assert await violations(page) == []
    await page.evaluate(PAINT)
    await expect(widget.locate_bodies("assistant")).to_have_text(["It is red."])
    assert await page.evaluate("painted") == ["red"]


async def test_conversations_are_named_found_renamed_and_deleted(
    page: Page, site: HostApplication, model: FaultModel
) -> None:
    refused: list[str] = []
    page.on("response", lambda response: refused.append(response.url) if response.status >= 400 else None)
    widget = Widget(page, site.url)
    await widget.open()
    await page.evaluate("document.querySelector('baton-chat').removeAttribute('session-id')")  # it has no list
    await widget.wait_until_connected()
    model.script(answers("Lisbon is lovely."))
    await widget.say("Where to in May?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Lisbon is lovely."])
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator("article")).to_have_count(0)
    await expect(widget.input).to_be_focused()
    await widget.wait_until_connected()
    model.script(answers("With flour."))
    await widget.say("How is bread made?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["With flour."])
    assert refused == []

    await page.get_by_role("button", name="Conversations").click()
    search = page.get_by_role("searchbox", name="Search conversations")
    await expect(search).to_be_focused()
    visible = page.locator("[part~=thread-button]")
    current = page.locator("[part~=thread-button][aria-current]")
    await expect(current).to_have_count(1)
    await page.locator("li", has=current).get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("Sourdough 4711")
    await page.keyboard.press("Enter")
    await expect(current).to_contain_text("Sourdough 4711")
    await search.fill("sourdough 4711")
    await expect(visible).to_have_count(1)
    await page.evaluate("document.documentElement.style.colorScheme = 'light dark'")
    for scheme in ["light", "dark"]:
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert await violations(page) == []
    await page.get_by_role("button", name="Delete Sourdough 4711").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.locator("article")).to_have_count(0)  # it was the one that is shown
    await expect(page.get_by_text("No conversations")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(search).to_be_hidden()
    await expect(widget.input).to_be_focused()


async def test_an_answer_is_rated_with_a_comment(widget: Widget, model: FaultModel) -> None:
    page = widget.page
    model.script(answers("Forty-two."))
    await widget.say("Why?")
    await page.get_by_role("button", name="Bad answer").click()
    await page.get_by_role("textbox", name="What could be better?").fill("Too short.")
    assert await violations(page) == []
    await page.get_by_role("button", name="Submit").click()
    await expect(page.get_by_role("textbox", name="What could be better?")).to_be_hidden()
    await widget.open()
    bad = page.get_by_role("button", name="Bad answer")
    await expect(bad).to_have_attribute("aria-pressed", "true")
    await bad.click()
    await expect(bad).to_have_attribute("aria-pressed", "false")


async def test_the_launcher_takes_the_focus_and_gives_it_back_and_counts_what_is_unread(
    widget: Widget, model: FaultModel
) -> None:
    page = widget.page
    await expect(widget.input).to_be_focused()
    gate = await show_half_story(widget, model)
    await page.keyboard.press("Escape")
    await expect(widget.page.locator("article.assistant .mark")).to_have_text("Stopped")
    await expect(page.locator("[part=panel]")).to_be_visible()
    gate.open()
    gate = await show_half_story(widget, model)
    await page.get_by_role("button", name="Close chat").last.click()
    launcher = page.locator("[part=launcher]")
    await expect(launcher).to_be_focused()
    gate.open()
    await expect(page.get_by_role("button", name="Open chat. New messages: 1")).to_be_visible()
    await expect(page.locator("[part=badge]")).to_have_text("1")
    assert await page.title() == "Order 4711"
    assert await violations(page) == []
    await page.reload()
    await expect(page.locator("[part=badge]")).to_have_text("1")
    await launcher.press("Enter")
    await expect(widget.input).to_be_focused()
    await expect(page.locator("[part=badge]")).to_be_hidden()
    await page.keyboard.press("Escape")
    await expect(page.locator("[part=panel]")).to_be_hidden()
    await expect(launcher).to_be_focused()


DROP = """([files, kind]) => {
  const data = new DataTransfer();
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  for (const { name, type, body } of files) data.items.add(new File([bytes(body)], name, { type }));
  const root = document.querySelector("baton-chat").shadowRoot;
  const options = { bubbles: true, cancelable: true };
  const pasted = () => new ClipboardEvent("paste", { ...options, clipboardData: data });
  const dropped = () => new DragEvent("drop", { ...options, dataTransfer: data });
  const target = root.querySelector(kind === "paste" ? "textarea" : "[part=panel]");
  target.dispatchEvent(kind === "paste" ? pasted() : dropped());
}"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


async def test_files_are_pasted_and_dropped_seen_before_and_opened_after(widget: Widget, model: FaultModel) -> None:
    page = widget.page
    picture = {"name": "cat.png", "type": "image/png", "body": PIXEL}
    text = {"name": "list.txt", "type": "text/plain", "body": "TWlsaw=="}
    await page.evaluate(DROP, [[picture], "paste"])
    await page.evaluate(DROP, [[text], "drop"])
    await expect(page.locator(".attached img[src^='blob:']")).to_be_visible()
    await expect(page.locator(".attached .name")).to_have_text(["cat.png", "list.txt"])
    model.script(answers("A cat."))
    await widget.say("What is this?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["A cat."])
    for file in (picture, text):
        name, address = file["name"], f"data:{file['type']};base64,{file['body']}"
        link = page.locator(f"article.user a[download='{name}']")
        await expect(link).to_have_attribute("href", address)


async def test_the_widget_speaks_the_language_of_the_page_when_that_changes(widget: Widget) -> None:
    page = widget.page
    await page.evaluate("document.documentElement.lang = 'de'")
    await expect(page.get_by_role("button", name="Senden")).to_be_visible()
    await page.evaluate("document.documentElement.lang = 'en'")
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


async def test_who_signs_out_signs_out_in_every_tab(widget: Widget, site: HostApplication, model: FaultModel) -> None:
    model.script(answers("Hello."))
    await widget.say("Hi")
    other = Widget(await widget.page.context.new_page(), site.url)
    await other.open()
    await expect(other.locate_bodies("assistant")).to_have_text(["Hello."])
    await other.page.get_by_role("button", name="Close chat").last.click()  # Escape would stop an answer first
    model.script(answers("Another secret."))
    await widget.say("Tell me a secret")
    await expect(other.page.locator("[part=badge]")).to_have_text("1")
    await widget.page.evaluate("document.querySelector('baton-chat').logout()")
    for page in (widget.page, other.page):
        await expect(page.locator("[part=panel]")).to_be_hidden()
        await expect(page.locator("article")).to_have_count(0)
        await expect(page.locator("[part=badge]")).to_have_count(0)
        stored: Any = await page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('baton:'))")
        assert stored == []
