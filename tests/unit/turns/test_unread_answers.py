"""Answers that the user has not read, the sessions that wait for the user, and who gets to know of them."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.tenants.identity import ThreadRef
from baton.domain.threads.thread import EndReason, Thread, ThreadStatus
from baton.domain.threads.turn_requests import DecisionRequest
from baton.threads.sessions.unread_answers import find_unread_change, is_unasked
from tests.harness.desks import DeskHarness
from tests.harness.due import DueHarness
from tests.harness.handoffs import calling
from tests.harness.harness import Harness
from tests.harness.sessions import close

WATER = "Water the plants."


@pytest.fixture
def due() -> DueHarness:
    return DueHarness()


async def thread_of(harness: Harness) -> Thread:
    return await harness.store.get_thread(harness.ada, harness.thread_id)


async def attach(harness: Harness, connection_id: str, thread_id: str, user: str = "ada") -> None:
    scope = type(harness.ada)(harness.ada.tenant_id, user)
    await harness.live.attach(scope, thread_id, connection_id, harness.clock.now() + timedelta(hours=3))


def updates(harness: Harness, connection_id: str) -> list[dict[str, Any]]:
    """The values of ``thread_updated`` that a connection got."""
    events = [json.loads(frame) for frame in harness.connections.frames[connection_id]]
    bodies = [body for event in events for body in (event if isinstance(event, list) else [event])]
    return [body["value"] for body in bodies if body.get("name") == "thread_updated"]


async def test_what_begins_by_itself_adds_to_the_unread_answers_and_a_message_replaces_them(due: DueHarness) -> None:
    await due.say("m1", "Hello")
    assert (await thread_of(due)).unread == 1
    await due.remind(rule="FREQ=DAILY")
    await due.pass_time(hours=1)
    await due.pass_time(hours=24)
    assert (await thread_of(due)).unread == 3
    run = await due.say("m2", "Done.")
    assert run.finished is not None
    assert (await thread_of(due)).unread == run.finished.thread.unread == 1


async def test_a_silent_run_leaves_nothing_unread_and_keeps_no_session_open(due: DueHarness) -> None:
    await due.say("m1", "Hello")
    await due.remind()
    due.model.script(calling("stay_silent"))
    await due.pass_time(hours=1)
    thread = await thread_of(due)
    assert (thread.unread, thread.awaits_user) == (1, False)


async def test_what_a_person_writes_is_unread_and_notes_are_not() -> None:
    desk = DeskHarness()
    await desk.ask()
    await desk.take()
    before = (await desk.thread()).unread
    await desk.reply("I am here.", "p1")
    await desk.note("Careful with this one.")
    assert (await desk.thread()).unread == before + 1
    await desk.say("m2", "Thank you")
    assert (await desk.thread()).unread == 0


async def test_the_users_reply_days_later_has_the_reminder_before_it(due: DueHarness) -> None:
    await due.say("m1", "Hello")
    await due.remind()
    due.model.script("Time for the fern.")
    await due.pass_time(hours=1)
    for _ in range(3 * 24):
        due.clock.advance(3600)
        await due.sweeper.sweep(seconds=10)
    assert (await thread_of(due)).status is ThreadStatus.ACTIVE
    await due.say("m2", "Move it to ten.")
    prompts = "\n".join(str(prompt.content) for prompt in due.model.requests[-1].prompts)
    assert WATER in prompts
    assert "Time for the fern." in prompts

    for _ in range(2):  # the session ends as any other from now on
        due.clock.advance(timedelta(minutes=30).total_seconds())
        await due.sweeper.sweep(seconds=10)
    assert (await thread_of(due)).status is ThreadStatus.CLOSED


async def test_a_session_whose_reminder_nobody_answers_ends_after_a_month(due: DueHarness) -> None:
    await due.remind()
    await due.pass_time(hours=1)
    due.clock.advance(timedelta(days=29, hours=23).total_seconds())
    await due.sweeper.sweep(seconds=10)
    assert (await thread_of(due)).status is ThreadStatus.ACTIVE
    due.clock.advance(3600)
    await due.sweeper.sweep(seconds=10)
    assert (await thread_of(due)).status is ThreadStatus.CLOSED


async def test_users_close_a_session_that_waits_for_them_and_what_begins_then_opens_a_new_one(due: DueHarness) -> None:
    await due.say("m1", "Hello")
    await due.remind(rule="FREQ=DAILY")
    await due.pass_time(hours=1)
    assert await close(due, EndReason.USER_CLOSED) is not None
    closed = await thread_of(due)
    assert (closed.status, closed.awaits_user) == (ThreadStatus.CLOSED, False)
    due.model.script("Water again.")
    await due.pass_time(hours=24)
    opened = await thread_of(due)
    assert (opened.status, opened.episode, opened.episode_first_ordinal) == (ThreadStatus.ACTIVE, 2, 4)
    assert opened.awaits_user
    await due.say("m2", "Done.")
    assert any("Water again." in str(prompt.content) for prompt in due.model.requests[-1].prompts)


async def test_connections_of_other_conversations_of_the_user_learn_of_it(due: DueHarness) -> None:
    other = str(uuid.uuid4())
    for thread_id in (other, due.thread_id):
        await due.say("m1", "Hello", thread_id=thread_id)
    await due.store.rename(due.ada, due.thread_id, "Plants")
    await attach(due, "elsewhere", other)
    await attach(due, "here", due.thread_id)
    await attach(due, "both", due.thread_id)
    await attach(due, "both", other)
    await attach(due, "an-auditor", other, user="auditor")
    await due.remind()
    await due.pass_time(hours=1)
    value = {"threadId": due.thread_id, "title": "Plants", "unread": 2, "lastActivityAt": "2040-03-01T13:00:00.000Z"}
    assert updates(due, "elsewhere") == [value]
    assert [updates(due, name) for name in ("here", "both", "an-auditor")] == [[], [], []]

    await due.app.sessions.unread_answers.mark_read(due.ada, due.thread_id, 100)
    assert updates(due, "elsewhere")[1:] == updates(due, "here") == updates(due, "both") == [value | {"unread": 0}]


async def test_plain_turns_look_for_no_other_connections(due: DueHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []
    monkeypatch.setattr(due.store, "list_threads", listed.append)
    await due.say("m1", "Hello")
    assert listed == []


@pytest.mark.parametrize(("by", "is_read"), [("ada", True), ("boss", False), (None, False)])
async def test_only_the_users_own_decision_reads_what_came_before(
    due: DueHarness, by: str | None, is_read: bool
) -> None:
    run = await due.say("m1", "Hello")
    assert run.finished is not None
    decision = InterruptDecision("i1", DecisionStatus.RESOLVED, {"approved": True}, by)
    request = DecisionRequest(ThreadRef(due.thread_id, may_create=False), "r9", (decision,))
    answers = run.finished.messages[1:]
    reading = find_unread_change(request, answers, "ada")
    assert (reading.unread, reading.is_read, is_unasked(answers, reading)) == (1, is_read, not is_read)
