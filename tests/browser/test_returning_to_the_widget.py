"""The widget and its page for a user who returns: to a new conversation, or to an old one."""

from __future__ import annotations

from ag_ui.core import (
    CustomEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from playwright.async_api import Locator, Page, expect

from tests.browser.harness import SESSION, SKILL, SPECIALIST, Harness, Json, answer, state

UNFINISHED: Json = SKILL | {"agentId": "skills", "threadId": "t-1", "updatedAt": "2026-11-28T14:05:00.000Z"}
LONG_NAME = "x" * 64


def offers(page: Page) -> Locator:
    """The buttons that continue what was left unfinished."""
    return page.locator(".offers button")


async def come_back(harness: Harness, run: Json | None, *messages: Json, last_seq: int) -> None:
    """Reload the page in the harness's conversation, of which the server has these messages."""
    path = f"/v1/threads/{harness.thread_id}"
    visible = state(activeAgent=SPECIALIST, workflow=SKILL | {"step": 3, "label": "Steps"})
    harness.answers[path] = {"id": harness.thread_id, "state": visible, "run": run, "lastSeq": last_seq}
    harness.answers[f"{path}/messages"] = {"items": list(messages), "nextCursor": None, "lastSeq": last_seq}
    await harness.page.reload()


async def test_what_was_left_unfinished_goes_on_in_a_new_conversation(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/workflows"] = {"items": [UNFINISHED], "nextCursor": None}
    await harness.open()
    await expect(offers(page)).to_contain_text("Continue: Create a skillStep 2 of 4: Triggers · left 28 Nov 2026")
    await page.get_by_role("button", name="New conversation").click()
    await offers(page).click()
    frame = await harness.take_frame("continue")
    assert frame == {"action": "continue", "threadId": frame["threadId"], "workflowId": "w-1"}
    assert frame["threadId"] == await page.evaluate(f"localStorage.getItem('{SESSION}')") != "t-1"
    await expect(offers(page)).to_be_disabled()

    harness.thread_id = frame["threadId"]
    await harness.run("c-1", "", state(activeAgent=SPECIALIST, workflow=SKILL))
    await expect(harness.step).to_have_text("Step 2 of 4: Triggers")
    await expect(offers(page)).to_have_count(0)


async def test_a_continuation_that_is_refused_can_be_tried_again(page: Page) -> None:
    harness = Harness(page)
    harness.answers["/v1/workflows"] = {"items": [UNFINISHED | {"step": None, "steps": None}], "nextCursor": None}
    await harness.open()
    await expect(offers(page)).to_contain_text("Continue: Create a skillTriggers · left")
    await offers(page).click()
    frame = await harness.take_frame("continue")
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


async def test_long_lines_of_code_scroll_in_their_own_box(page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 640})
    harness = await Harness(page).open()
    await harness.begin("Show me the skill")
    await harness.play(*answer(f"```\n{'a long line ' * 40}{LONG_NAME * 4}\n```"))
    code = page.locator("article.assistant pre")
    await expect(code).to_be_visible()
    assert await code.evaluate("(pre) => pre.scrollWidth > pre.clientWidth && pre.clientWidth < 360")
    assert await page.locator(".scroller").evaluate("(box) => box.scrollWidth <= box.clientWidth")


async def test_a_conversation_at_rest_stays_so_while_it_is_replayed(page: Page) -> None:
    harness = await Harness(page).open()
    await harness.begin("I want a skill")
    await harness.end()
    harness.frames.clear()
    message = {"id": "m-1", "role": "user", "content": "I want a skill", "metadata": {"ordinal": 0, "runId": "old"}}
    await come_back(harness, None, message, last_seq=9)
    await expect(harness.step).to_have_text("Step 3 of 4: Steps")
    await harness.take_frame("resume")
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
    await expect(harness.step).to_have_text("Step 3 of 4: Steps")
    await expect(page.locator("footer .closed")).to_be_hidden()


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
    await expect(harness.announced).to_have_text("Assistant: Uno")
    await page.get_by_role("button", name="New conversation").click()
    await expect(harness.announced).to_be_empty()
