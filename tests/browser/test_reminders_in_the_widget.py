"""Reminders in the widget: what began a run by itself, and the list with its buttons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, Route, expect

from tests.browser.accessibility import violations
from tests.browser.harness import ORIGIN, Harness, Json

SCHEDULE: Json = {
    "agentId": "assistant",
    "threadId": "t",
    "rule": None,
    "timeZone": "user",
    "status": "active",
    "nextAt": "2090-05-01T08:00:00.000Z",
    "paused": False,
}
PASSED = "The time of this reminder has passed while it was paused."


class Reminders:
    """The schedules of the server, and the requests to change them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.schedules = [
            SCHEDULE | {"id": "a/ü", "text": "Water the plants."},
            SCHEDULE | {"id": "b", "text": "Call the bank.", "rule": "FREQ=DAILY;BYHOUR=9"},
            SCHEDULE | {"id": "c", "text": "Over.", "status": "finished", "nextAt": None},
        ]
        self.changes: list[tuple[str, str, Any]] = []

    async def answer(self, route: Route) -> None:
        request = route.request
        if request.method == "GET":
            await route.fulfill(json={"items": self.schedules, "nextCursor": None})
            return
        body = json.loads(request.post_data) if request.post_data else None
        self.changes.append((request.method, request.url.removeprefix(f"{ORIGIN}/v1/schedules/"), body))
        if body == {"paused": False}:
            await route.fulfill(status=422, json={"code": "invalid_request", "detail": "Send a new `at` or `rule`."})
        elif request.method == "PATCH":
            self.schedules[0] |= {"paused": True, "status": "paused", "nextAt": None}
            await route.fulfill(json=self.schedules[0])
        else:
            del self.schedules[1]
            await route.fulfill(status=204)


@pytest.fixture
async def reminders(page: Page) -> Reminders:
    reminders = Reminders(page)
    harness = Harness(page, {"/v1/workflows": {"items": [], "nextCursor": None}})
    await harness.open()
    await page.route(f"{ORIGIN}/v1/schedules**", reminders.answer)
    await page.route(f"{ORIGIN}/v1/schedules/**", reminders.answer)
    return reminders


async def test_a_user_pauses_and_deletes_reminders(page: Page, reminders: Reminders) -> None:
    await page.get_by_role("button", name="Conversations").click()
    listed = page.get_by_role("region", name="Reminders")
    lines = listed.get_by_role("listitem")
    await expect(lines).to_have_count(2)
    await expect(lines.first).to_contain_text("2090")
    await expect(lines.last).to_contain_text("· every day")
    assert await violations(page) == []
    await listed.get_by_role("button", name="Pause: Water the plants.").click()
    await expect(lines.first).to_contain_text("paused")
    await expect(listed.get_by_role("button", name="Resume: Water the plants.")).to_be_enabled()
    await listed.get_by_role("button", name="Resume: Water the plants.").click()
    await expect(listed.get_by_role("alert").first).to_have_text(PASSED)
    await lines.first.get_by_role("button", name="Cancel").click()
    await listed.get_by_role("button", name="Delete: Call the bank.").click()
    await expect(listed.get_by_role("button", name="Cancel")).to_be_focused()
    await lines.last.get_by_role("button", name="Delete").click()
    await expect(lines).to_have_count(1)
    paused, resumed, deleted = reminders.changes
    assert paused == ("PATCH", "a%2F%C3%BC", {"paused": True})
    assert resumed == ("PATCH", "a%2F%C3%BC", {"paused": False})
    assert deleted == ("DELETE", "b", None)


async def test_what_began_a_run_comes_before_the_answer_and_silence_shows_nothing(page: Page) -> None:
    harness = await Harness(page, {"/v1/workflows": {"items": [], "nextCursor": None}}).open()
    await harness.begin("Hello")
    await harness.end()

    async def begin_by_itself(number: int) -> None:
        message = {
            "id": f"e-{number}",
            "role": "activity",
            "activityType": "event",
            "content": {"kind": "schedule", "label": f"Water plant {number}."},
        }
        metadata = {"threadId": harness.thread_id, "messageId": f"e-{number}", "openedBy": "schedule"}
        harness.seq += 1
        await harness.send(
            {
                "type": "RUN_STARTED",
                "threadId": harness.thread_id,
                "runId": f"by-itself-{number}",
                "input": {"messages": [message]},
                "metadata": metadata | {"runId": f"by-itself-{number}", "seq": harness.seq, "attempt": 1},
            }
        )

    notes = page.locator("[part=note]")
    await begin_by_itself(1)
    start = TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant")
    sent_message = TextMessageContentEvent(message_id="t-1", delta="Please water it.")
    await harness.play(start, sent_message, TextMessageEndEvent(message_id="t-1"), run_id="by-itself-1")
    await expect(notes).to_have_text(["Reminder: Water plant 1."])
    await begin_by_itself(2)
    await expect(notes).to_have_count(1)
