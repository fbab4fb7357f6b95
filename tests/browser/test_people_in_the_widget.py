"""People who answer in the widget: asked for by a button, waited for, talked to, and left again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, Route, expect

from baton.domain.threads.events import DeliveredOutcome, RunFinishedEvent
from tests.browser.accessibility import violations
from tests.browser.harness import ASSISTANT, ORIGIN, Harness, Json, state

TEAM: Json = ASSISTANT | {"id": "support", "name": "Support team", "isMain": False}
ANNA: Json = {"kind": "person", "id": "anna", "name": "Anna Berg", "avatarUrl": "/local/page/anna.svg"}
DESK: Json = {"id": "support", "name": "Support team", "isOpen": True, "opensAt": None}


def agents(**desk: Any) -> Json:
    """The list of agents: an assistant with one desk."""
    listed = ASSISTANT | {"main": True, "isDefault": True, "desks": [DESK | desk]}
    return {"items": [listed], "nextCursor": None}


def at_desk(status: str, ahead: int | None = None) -> Json:
    """The state of a conversation at the desk."""
    person = ANNA if status == "active" else None
    desk = {"agentId": "support", "status": status, "since": "2026-11-30T08:00:00.000Z", "person": person}
    return state(activeAgent=TEAM, desk=desk | {"ahead": ahead})


@pytest.fixture
async def harness(page: Page) -> Harness:
    answers: dict[str, Json] = {"/v1/agents": agents(), "/v1/workflows": {"items": [], "nextCursor": None}}
    return await Harness(page, answers).open()


async def deliver(harness: Harness, text: str) -> None:
    """The user writes, and the message is delivered to people."""
    run_id = await harness.begin(text, at_desk("active"))
    finished = RunFinishedEvent(thread_id=harness.thread_id, run_id=run_id, outcome=DeliveredOutcome())
    await harness.play(finished)


async def writes(harness: Harness, text: str, *files: Json) -> None:
    """Anna writes to the user."""
    await harness.run("", "", at_desk("active"))
    start = TextMessageStartEvent(message_id="p-1", role="assistant", name="Anna Berg", metadata={"author": ANNA})
    end = TextMessageEndEvent(message_id="p-1", metadata={"attachments": list(files)})
    await harness.play(start, TextMessageContentEvent(message_id="p-1", delta=text), end)
    await harness.end()


async def test_the_user_asks_for_a_person_and_is_answered(page: Page, harness: Harness) -> None:
    requests: list[Json] = []

    async def ask(route: Route) -> None:
        requests.append(json.loads(route.request.post_data or "{}"))
        await route.fulfill(json={})

    await page.route(f"{ORIGIN}/v1/threads/*/desk", ask)
    await harness.begin("Hello")
    await harness.end()
    await page.get_by_role("button", name="Talk to a person").click()
    await expect(page.get_by_role("button", name="Talk to a person")).to_be_enabled()
    assert requests == [{"deskId": "support", "locale": "en"}]

    await harness.run("", "", at_desk("waiting", ahead=2))
    await harness.end()
    session = page.locator("[part~=session]")
    await expect(session).to_contain_text("Waiting for a person: Support team. At most 2 ahead of you.")
    await expect(page.get_by_role("button", name="Talk to a person")).to_be_hidden()

    await deliver(harness, "Is anybody there?")
    await expect(page.locator(".header .name")).to_have_text("Anna Berg")
    await expect(page.locator("article.user").last).to_contain_text("Delivered")
    await expect(page.locator("[part=typing]")).to_be_hidden()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()

    await harness.send({"type": "CUSTOM", "name": "typing", "value": {"who": "person"}, "metadata": {}})
    await expect(page.locator("[part=typing]")).to_be_visible()
    await expect(page.get_by_role("status").filter(has_text="Anna Berg is writing…")).to_have_count(1)
    receipt = {"type": "document", "source": {"type": "url", "value": "https://files.test/receipt.pdf"}}
    await writes(harness, "Hello Ada, I am Anna.", receipt | {"metadata": {"name": "receipt.pdf"}})
    message = page.get_by_role("article", name="Anna Berg, A person")
    await expect(message).to_contain_text("Hello Ada, I am Anna.")
    await expect(message.get_by_role("link", name="receipt.pdf")).to_be_visible()
    await expect(message.get_by_role("button", name="Answer again")).to_have_count(0)
    await expect(message.get_by_role("button", name="Good answer")).to_have_count(0)
    await expect(page.get_by_role("button", name="Edit message")).to_have_count(0)
    await expect(harness.announced).to_have_text("Anna Berg: Hello Ada, I am Anna.")
    assert await violations(page) == []

    await page.get_by_role("textbox", name="Your message").type("Th")
    await harness.take_frame("typing")
    await page.get_by_role("button", name="Back to the assistant").click()
    await harness.take_frame("exit")
    await harness.run("", "", state())
    await harness.end()
    await expect(session).to_be_hidden()
    await expect(page.locator(".header .name")).to_have_text("Assistant")


async def test_desks_learn_the_language_of_the_page_also_when_it_changes(page: Page, harness: Harness) -> None:
    assert (await harness.say("Hello"))["locale"] == "en"
    await page.evaluate("document.documentElement.lang = 'de-AT'")
    await page.get_by_role("textbox", name="Ihre Nachricht").fill("Servus")
    await page.keyboard.press("Enter")
    assert (await harness.take_frame("message"))["locale"] == "de-AT"


async def test_a_closed_desk_says_when_its_people_answer(page: Page) -> None:
    answers: dict[str, Json] = {"/v1/agents": agents(isOpen=False, opensAt="2090-05-01T08:00:00.000Z")}
    await Harness(page, answers | {"/v1/workflows": {"items": [], "nextCursor": None}}).open()
    await expect(page.locator(".header .name")).to_have_text("Assistant")  # who will answer, before anything is said
    people = page.locator("[part=people]")
    await expect(people.get_by_role("button", name="Talk to a person")).to_be_visible()
    await expect(people).to_contain_text("Support team answers from Monday")


async def test_a_conversation_at_a_desk_is_whole_after_a_reload(page: Page) -> None:
    thread_id = "0b54c1f6-6f0e-4c09-8f0e-1a2b3c4d5e6f"
    file = {"type": "document", "source": {"type": "file", "value": "file_1"}}
    download = file | {"metadata": {"name": "receipt.pdf", "downloadUrl": "https://files.test/1"}}
    stored = [
        {"id": "m-1", "role": "user", "content": "Hello", "metadata": {"ordinal": 0, "runId": "r-1"}},
        {
            "id": "p-1",
            "role": "assistant",
            "content": "I am Anna.",
            "name": "Anna Berg",
            "metadata": {"ordinal": 1, "runId": "r-2", "agentId": "support", "author": ANNA, "attachments": [download]},
        },
        {"id": "m-2", "role": "user", "content": "Thank you", "metadata": {"ordinal": 2, "runId": "r-3"}},
    ]
    thread = {"id": thread_id, "agentId": "assistant", "status": "active", "state": at_desk("active"), "run": None}
    harness = Harness(
        page,
        {
            "/v1/agents": agents(),
            f"/v1/threads/{thread_id}": thread | {"title": None, "lastSeq": 9, "interrupts": []},
            f"/v1/threads/{thread_id}/messages": {"items": stored, "nextCursor": None, "lastSeq": 9},
        },
    )
    await harness.remember(thread_id)
    await harness.open()
    await expect(page.locator(".header .name")).to_have_text("Anna Berg")
    await expect(page.locator("[part~=session]")).to_contain_text("Support team")
    message = page.get_by_role("article", name="Anna Berg, A person")
    await expect(message.get_by_role("link", name="receipt.pdf")).to_have_attribute("href", "https://files.test/1")
    await expect(page.locator("article.user").last).to_contain_text("Delivered")
    await expect(page.get_by_role("button", name="Edit message")).to_have_count(0)
