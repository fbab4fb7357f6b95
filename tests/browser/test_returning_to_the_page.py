"""What the demo page shows to somebody who returns: to a new conversation, to an old one, in the middle of a turn."""

from __future__ import annotations

import re

from ag_ui.core import (
    CustomEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from playwright.async_api import FilePayload, Locator, Page, expect

from tests.browser.harness import SKILL, SPECIALIST, Harness, Json, state

UNFINISHED: Json = SKILL | {"agentId": "skills", "threadId": "t-1"}
LONG_NAME = "x" * 64


def offers(page: Page) -> Locator:
    """The buttons that continue what was left unfinished."""
    return page.get_by_role("list", name="Unfinished work").get_by_role("button")


async def come_back(harness: Harness, run: Json | None, *messages: Json, last_seq: int) -> None:
    """Reload the page in the harness's conversation, of which the server has these messages."""
    path = f"/v1/threads/{harness.thread_id}"
    shown = state(activeAgent=SPECIALIST, workflow=SKILL | {"step": 3, "label": "Steps"})
    harness.answers[path] = {"id": harness.thread_id, "state": shown, "run": run, "lastSeq": last_seq}
    harness.answers[f"{path}/messages"] = {"items": list(messages), "nextCursor": None}
    await harness.page.reload()


async def test_what_was_left_unfinished_goes_on_in_a_new_conversation(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/workflows"] = {"items": [UNFINISHED], "nextCursor": None}
    await harness.open()
    await expect(offers(page)).to_have_text("Continue: Create a skillStep 2 of 5: Triggers")
    await page.get_by_role("button", name="New conversation").click()
    await offers(page).click()
    frame = await harness.sent("continue")
    assert frame == {"action": "continue", "threadId": frame["threadId"], "workflowId": "w-1"}
    assert frame["threadId"] == await page.evaluate("sessionStorage.getItem('baton.thread')") != "t-1"
    await expect(offers(page)).to_be_disabled()

    harness.thread_id = frame["threadId"]
    await harness.run("c-1", "", state(activeAgent=SPECIALIST, workflow=SKILL))
    await expect(page.locator("#step")).to_have_text("Step 2 of 5: Triggers")
    await expect(offers(page)).to_have_count(0)


async def test_a_continuation_that_is_refused_can_be_tried_again(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/workflows"] = {"items": [UNFINISHED | {"step": None, "steps": None}], "nextCursor": None}
    await harness.open()
    await expect(offers(page)).to_have_text("Continue: Create a skillTriggers")
    await offers(page).click()
    frame = await harness.sent("continue")
    metadata = {"threadId": frame["threadId"], "action": "continue"}
    refusal = {"type": "RUN_ERROR", "message": "It cannot be continued.", "code": "workflow_unavailable"}
    await harness.send({**refusal, "metadata": metadata})
    await expect(page.get_by_role("alert")).to_have_text("It cannot be continued.")
    await expect(offers(page)).to_be_enabled()


async def test_a_long_name_stays_in_the_window(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/workflows"] = {"items": [UNFINISHED | {"name": f"your {LONG_NAME} skill"}], "nextCursor": None}
    await page.set_viewport_size({"width": 360, "height": 640})
    await harness.open()
    await expect(offers(page)).to_be_visible()
    box = await offers(page).bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
    await expect(page.get_by_role("textbox", name="Your message")).to_be_in_viewport(ratio=1)


async def test_long_lines_of_code_are_broken(page: Page) -> None:
    harness = await Harness(page).open()
    await harness.begin("Show me the skill")
    await harness.play(
        TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="t-1", delta=f"```\n{'a long line ' * 40}{LONG_NAME * 4}\n```"),
        TextMessageEndEvent(message_id="t-1"),
    )
    code = page.locator("article.assistant pre")
    await expect(code).to_be_visible()
    assert await code.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")


async def test_a_conversation_at_rest_stays_so_while_it_is_told_again(page: Page) -> None:
    harness = await Harness(page).open()
    await harness.begin("I want a skill")
    await harness.end()
    harness.frames.clear()
    said = {"id": "m-1", "role": "user", "content": "I want a skill", "metadata": {"ordinal": 0, "runId": "old"}}
    await come_back(harness, None, said, last_seq=9)
    await expect(page.locator("#step")).to_have_text("Step 3 of 5: Steps")
    await harness.sent("resume")
    harness.seq = 0
    closed = CustomEvent(name="thread_closed", value={"reason": "UserClosed"})
    await harness.play(
        RunStartedEvent(thread_id=harness.thread_id, run_id="old", metadata={"messageId": "m-1"}),
        StateSnapshotEvent(snapshot=state()),
        StateDeltaEvent(delta=[{"op": "replace", "path": "/status", "value": "closed"}]),
        closed,
        run_id="old",
    )
    await expect(page.locator(".note")).to_be_visible()
    await expect(page.locator(".typing")).to_have_count(0)
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.locator("#step")).to_have_text("Step 3 of 5: Steps")
    await expect(page.locator("#closed")).to_be_hidden()


async def test_a_reload_in_the_middle_of_a_turn_keeps_what_was_said(page: Page) -> None:
    harness = await Harness(page).open()
    run_id = await harness.begin("Tell me a story")
    message_id = await page.evaluate("JSON.parse(sessionStorage.getItem('baton.said')).messageId")
    run = {"runId": run_id, "messageId": message_id, "status": "running", "attempt": 1}
    await come_back(harness, run, last_seq=0)
    said = page.locator("article.user .body")
    await expect(said).to_have_text("Tell me a story")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    harness.seq = 0
    await harness.play(
        RunStartedEvent(thread_id=harness.thread_id, run_id=run_id, metadata={"messageId": message_id}),
        RunFinishedEvent(thread_id=harness.thread_id, run_id=run_id),
    )
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(said).to_have_count(1)


async def test_a_conversation_begins_with_the_agent_that_was_chosen(page: Page) -> None:
    harness = Harness(page)
    operator = {"id": "operator", "name": "Operator", "description": "Reports outages.", "main": True}
    writer = {"id": "writer", "name": "Writer", "description": "Is asked by others.", "main": False}
    harness.answers["/v1/agents"] = {"items": [operator, writer]}
    await harness.open()
    await page.get_by_role("button", name="Agents").click()
    dialog = page.get_by_role("dialog", name="Agents")
    await expect(dialog.get_by_role("button", name="New conversation with")).to_have_count(1)
    await dialog.get_by_role("button", name="New conversation with Operator").click()
    await expect(dialog).to_be_hidden()
    await expect(page.locator("#agent")).to_have_text("Operator")
    assert (await harness.say("Report an outage"))["agentId"] == "operator"

    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator("#agent")).to_be_hidden()
    assert "agentId" not in await harness.say("Something else")


async def test_nothing_of_the_person_before_is_left_on_the_page(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/threads"] = {
        "items": [{"id": "t-1", "status": "active", "createdAt": "2026-03-12T10:00:00Z"}],
        "nextCursor": None,
    }
    harness.answers["/v1/agents"] = {
        "items": [{"id": "a", "name": "Ada's agent", "description": "Ada's alone.", "main": True}]
    }
    await harness.open()
    await expect(page.locator("#threads li")).to_have_count(1)
    await harness.begin("Ada's question")
    await harness.play(
        TextMessageStartEvent(message_id="a-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="a-1", delta="Ada's answer"),
        TextMessageEndEvent(message_id="a-1"),
    )
    await harness.end()
    await expect(page.locator("#announce")).to_have_text("Assistant: Ada's answer")
    await page.get_by_role("button", name="Agents").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Ada's alone.")
    await page.keyboard.press("Escape")
    await page.get_by_role("textbox", name="Your message").fill("Ada's draft")
    file: FilePayload = {"name": "ada.txt", "mimeType": "text/plain", "buffer": b"Ada's file"}
    await page.get_by_label("Attach images").set_input_files(file)

    del harness.answers["/v1/threads"]  # not even if the server does not answer
    await page.get_by_text("Be somebody else").click()
    await page.get_by_label("User").fill("grace")
    await page.get_by_role("button", name="Use these").click()

    await expect(page.locator("#who")).to_have_text("grace of tenant demo")
    await expect(page.locator("#threads li")).to_have_count(0)
    await expect(page.locator("#transcript > *")).to_have_count(0)
    await expect(page.locator("body")).not_to_contain_text(re.compile("Ada's|ada.txt"))
    await expect(page.get_by_role("textbox", name="Your message")).to_have_value("")
    assert "Ada's" not in await page.evaluate("JSON.stringify(sessionStorage)")


async def test_another_conversation_announces_nothing_of_the_one_before(page: Page) -> None:
    harness = Harness(page)
    await harness.open()
    await harness.begin("One")
    await harness.play(
        TextMessageStartEvent(message_id="a-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="a-1", delta="Uno"),
        TextMessageEndEvent(message_id="a-1"),
    )
    await harness.end()
    await expect(page.locator("#announce")).to_have_text("Assistant: Uno")
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator("#announce")).to_be_empty()
