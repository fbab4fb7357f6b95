"""The widget handles answers that fail to come; the server's part is played by the test."""

from __future__ import annotations

import pytest
from ag_ui.core import RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, expect

from tests.browser.harness import Harness, answer, state

ANSWER_SECONDS = 5
"""The time for which the widget waits for an answer to a resume."""


async def lose_answer(page: Page) -> Harness:
    """Begin a run, lose one of its events, and wait until the page has requested it."""
    await page.clock.install()
    harness = await Harness(page).open()
    await harness.begin("Tell me a story")
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    harness.seq += 1
    await harness.play(TextMessageContentEvent(message_id="t-1", delta="stormy night."))
    assert (await harness.take_frame("resume"))["after"] == 3
    return harness


async def wait_for_the_answer(harness: Harness) -> None:
    """Let the time for an answer pass, in which something else shows that the connection lives."""
    await harness.page.clock.run_for((ANSWER_SECONDS - 1) * 1000)
    await harness.send({"type": "PONG"})
    await harness.page.clock.run_for(1000)


@pytest.mark.nightly
async def test_a_resume_without_an_answer_is_asked_for_again_and_then_by_another_connection(page: Page) -> None:
    harness = await lose_answer(page)
    await wait_for_the_answer(harness)
    assert (await harness.take_frame("resume"))["after"] == 3
    assert harness.connections == 1
    await wait_for_the_answer(harness)
    assert (await harness.take_frame("resume"))["after"] == 3
    assert harness.connections == 2
    assert harness.frames == []


async def test_events_that_come_too_soon_are_shown_after_the_one_that_they_follow(page: Page) -> None:
    harness = await lose_answer(page)
    await harness.play(TextMessageContentEvent(message_id="t-1", delta=" A shot rang out."))
    await harness.play(TextMessageEndEvent(message_id="t-1"))
    harness.seq = 3
    await harness.play(TextMessageContentEvent(message_id="t-1", delta="It was a dark and "))
    body = page.locator("article.assistant .body")
    await expect(body).to_have_text("It was a dark and stormy night. A shot rang out.")
    await expect(body).to_have_attribute("aria-busy", "false")


@pytest.mark.nightly
async def test_a_resume_whose_events_break_off_is_asked_for_again_from_where_they_did(page: Page) -> None:
    harness = await lose_answer(page)
    resume = {"after": 3, "lastSeq": 6, "runId": "run-1"}
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": state()}
    await harness.send({**snapshot, "metadata": {"threadId": harness.thread_id, "resume": resume}})
    harness.seq = 3
    await harness.play(TextMessageContentEvent(message_id="t-1", delta="It was a dark and "))
    await expect(page.locator("article.assistant .body")).to_have_text("It was a dark and stormy night.")
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert (await harness.take_frame("resume"))["after"] == 5
    await harness.send({**snapshot, "metadata": {"threadId": harness.thread_id, "resume": resume | {"after": 5}}})
    harness.seq = 5
    await harness.play(TextMessageEndEvent(message_id="t-1"))
    await expect(page.locator("article.assistant .body")).to_have_attribute("aria-busy", "false")
    await page.clock.run_for(ANSWER_SECONDS * 1000)
    assert harness.frames == []


async def test_several_events_may_come_in_one_frame(page: Page) -> None:
    harness = await Harness(page).open()
    await harness.begin("Tell me a story")
    await harness.play_together(
        TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="t-1", delta="It was a dark "),
        TextMessageContentEvent(message_id="t-1", delta="and stormy night."),
    )
    await expect(page.locator("article.assistant .body")).to_have_text("It was a dark and stormy night.")


async def test_a_run_that_another_worker_begins_again_shows_its_answer_alone(page: Page) -> None:
    harness = await Harness(page).open()
    frame = await harness.say("Tell me a story")
    run_id = await harness.run(frame["messageId"], "Tell me a story")
    await harness.play(*answer("It was a dark ")[:2])
    await expect(page.locator("article.assistant .body")).to_have_text("It was a dark")
    await harness.disconnect()
    assert (await harness.take_frame("resume"))["after"] == harness.seq
    about = {"attempt": 2, "previousSeq": harness.seq, "messageId": frame["messageId"]}
    harness.seq += 10
    again = RunStartedEvent(thread_id=harness.thread_id, run_id=run_id, metadata=about)
    harness.attempt = 2
    await harness.play(again, *answer("It was a bright morning."))
    await harness.end()
    await expect(page.locator("article.assistant .body")).to_have_text(["It was a bright morning."])
    await expect(page.locator("article.user .body")).to_have_text(["Tell me a story"])


async def test_what_was_said_without_an_answer_is_said_again_after_a_reload(page: Page) -> None:
    harness = await Harness(page).open()
    first = await harness.say("Can you hear me?")
    await page.reload()
    await expect(page.locator("article.user .body")).to_have_text("Can you hear me?")
    assert await harness.take_frame("message") == first
    await harness.run(first["messageId"], "Can you hear me?")
    await harness.end()
    await page.reload()
    await expect(page.locator("[part=status]")).to_have_attribute("data-status", "open")
    await harness.say("And now?")
    assert [frame["content"] for frame in harness.frames if frame["action"] == "message"] == []


@pytest.mark.nightly
async def test_a_request_is_sent_again_until_a_later_ping_is_answered(page: Page) -> None:
    harness = await Harness(page).open()
    run_id = await harness.begin("Tell me a story")
    cancel = {"action": "cancel", "threadId": harness.thread_id, "runId": run_id}
    harness.answers_pings = False
    await page.get_by_role("button", name="Stop").click()
    assert await harness.take_frame("cancel") == cancel
    harness.answers_pings = True
    await harness.disconnect()
    assert await harness.take_frame("cancel") == cancel
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    await expect(page.locator("article.assistant")).to_be_visible()  # what was heard before, too
    harness.frames.clear()
    await harness.disconnect()
    await harness.take_frame("resume")
    assert [frame for frame in harness.frames if frame["action"] == "cancel"] == []
