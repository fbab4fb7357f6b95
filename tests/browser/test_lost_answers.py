"""What the demo page does about answers that fail to come, with the server's part played by the test."""

from __future__ import annotations

from ag_ui.core import TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, expect

from tests.browser.stage import Stage, state

ANSWER_SECONDS = 5
"""How long an answer to a resume is waited for."""


async def with_an_answer_missing(page: Page) -> Stage:
    """A conversation of whose run an event got lost, so that the page has asked for it."""
    await page.clock.install()
    stage = await Stage(page).open()
    await stage.begin("Tell me a story")
    await stage.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    stage.seq += 1
    await stage.play(TextMessageContentEvent(message_id="t-1", delta="stormy night."))
    assert (await stage.sent("resume"))["after"] == 3
    return stage


async def test_a_resume_without_an_answer_is_asked_for_again_and_then_by_another_connection(page: Page) -> None:
    stage = await with_an_answer_missing(page)
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert (await stage.sent("resume"))["after"] == 3
    connections = stage.connections
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert (await stage.sent("resume"))["after"] == 3
    assert stage.connections == connections + 1


async def test_a_resume_whose_events_break_off_is_asked_for_again_from_where_they_did(page: Page) -> None:
    stage = await with_an_answer_missing(page)
    resume = {"after": 3, "lastSeq": 6, "runId": "run-1"}
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": state()}
    await stage.send({**snapshot, "metadata": {"threadId": stage.thread_id, "resume": resume}})
    stage.seq = 3
    await stage.play(TextMessageContentEvent(message_id="t-1", delta="It was a dark and "))
    await expect(page.locator("article.assistant .body")).to_have_text("It was a dark and stormy night.")
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert (await stage.sent("resume"))["after"] == 5
    await stage.send({**snapshot, "metadata": {"threadId": stage.thread_id, "resume": resume | {"after": 5}}})
    stage.seq = 5
    await stage.play(TextMessageEndEvent(message_id="t-1"))
    await expect(page.locator("article.assistant .body")).to_have_attribute("aria-busy", "false")
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert stage.frames == []


async def test_several_events_may_come_in_one_frame(page: Page) -> None:
    stage = await Stage(page).open()
    await stage.begin("Tell me a story")
    await stage.play_together(
        TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="t-1", delta="It was a dark "),
        TextMessageContentEvent(message_id="t-1", delta="and stormy night."),
    )
    await expect(page.locator("article.assistant .body")).to_have_text("It was a dark and stormy night.")


async def test_what_was_said_without_an_answer_is_said_again_after_a_reload(page: Page) -> None:
    stage = await Stage(page).open()
    first = await stage.say("Can you hear me?")
    await page.reload()
    await expect(page.locator("article.user .body")).to_have_text("Can you hear me?")
    assert await stage.sent("message") == first
    await stage.run(first["messageId"], "Can you hear me?")
    await stage.end()
    await page.reload()
    await expect(page.locator("#status")).to_have_attribute("data-state", "open")
    await stage.say("And now?")
    assert [frame["content"] for frame in stage.frames if frame["action"] == "message"] == []


async def test_a_wish_is_sent_again_until_a_later_ping_is_answered(page: Page) -> None:
    stage = await Stage(page).open()
    run_id = await stage.begin("Tell me a story")
    cancel = {"action": "cancel", "threadId": stage.thread_id, "runId": run_id}
    stage.answers_pings = False
    await page.get_by_role("button", name="Stop").click()
    assert await stage.sent("cancel") == cancel
    stage.answers_pings = True
    await stage.disconnect()
    assert await stage.sent("cancel") == cancel
    await stage.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    await expect(page.locator("article.assistant")).to_be_visible()  # what was heard before, too
    stage.frames.clear()
    await stage.disconnect()
    await stage.sent("resume")
    assert [frame for frame in stage.frames if frame["action"] == "cancel"] == []
