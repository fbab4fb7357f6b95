"""Stopping a run, and the users who may do so."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from baton.domain.errors import ThreadUnavailable, WorkflowUnavailable
from baton.domain.tenants.identity import Scope, ThreadRef, resolve_thread_ref
from baton.domain.threads.message import MessageStatus
from baton.domain.threads.thread import EndReason
from baton.memory.prompt.message_prompts import STOPPED_NOTE
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness, Turn


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def cancel_mid_answer(harness: Harness) -> Turn:
    harness.model.script(Answer(("Half an ", "answer"), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    assert await harness.controls.cancel(harness.ada, harness.thread_id, None) is not None
    return await running


async def test_a_cancelled_run_stops_and_keeps_what_was_streamed(harness: Harness) -> None:
    turn = await cancel_mid_answer(harness)
    assert turn.types[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert turn.last["outcome"] == {"type": "cancelled"}
    assert turn.finished is not None
    assert turn.finished.messages[-1].content == "Half an "
    assert turn.finished.messages[-1].status is MessageStatus.CANCELLED
    assert harness.model.abandoned == 1


async def test_the_next_turn_sees_that_the_answer_was_stopped(harness: Harness) -> None:
    await cancel_mid_answer(harness)
    await harness.say("m2")
    assert ("assistant", f"Half an \n{STOPPED_NOTE}") in harness.model.requests[1].contents


async def test_a_cancel_never_stops_the_next_turn(harness: Harness) -> None:
    await cancel_mid_answer(harness)
    assert (await harness.say("m2")).last["outcome"] == {"type": "success"}


async def test_with_nothing_running_a_cancel_does_nothing(harness: Harness) -> None:
    await harness.say()
    assert await harness.controls.cancel(harness.ada, harness.thread_id, None) is None
    assert harness.audit.records == []


async def test_a_run_that_is_cancelled_while_it_waits_asks_no_model(harness: Harness) -> None:
    await harness.say("m1")
    await harness.controls.cancel(harness.ada, harness.thread_id, "run-2")
    turn = await harness.say("m2", run_id="run-2")
    assert (turn.types, turn.last["outcome"]) == (
        ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"],
        {"type": "cancelled"},
    )
    assert len(harness.model.requests) == 1


async def test_a_repeat_of_a_cancelled_message_is_answered_by_the_same_cancelled_run(harness: Harness) -> None:
    first = await cancel_mid_answer(harness)
    assert [e.body for e in (await harness.say("m1")).events] == [e.body for e in first.events]


async def test_what_nobody_has_begun_is_refused_and_nobody_is_denied_anything(harness: Harness) -> None:
    unused = str(uuid.uuid4())
    with pytest.raises(ThreadUnavailable):
        await harness.controls.cancel(harness.ada, unused, "run-1")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.close(harness.ada, unused, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.request_exit(harness.ada, unused, request_id="r")
    with pytest.raises(WorkflowUnavailable):  # so it is in a foreign thread
        await harness.controls.request_continue(harness.ada, ThreadRef(unused, may_create=False), str(uuid.uuid4()))
    with pytest.raises(ThreadUnavailable):
        await harness.closer.close(harness.ada, unused, EndReason.USER_CLOSED, patience=1)
    with pytest.raises(ThreadUnavailable):
        await harness.forks.fork(harness.ada, unused, agent_id="assistant")
    with pytest.raises(ThreadUnavailable):
        await harness.say(thread_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, "never begun")))
    with pytest.raises(ThreadUnavailable):
        await harness.app.approvals.find_owner(harness.ada, unused, [])
    actions = ["run.cancel", "thread.close", "thread.exit", "thread.continue", "thread.close", "thread.fork"]
    reported = [(record.action, record.outcome) for record in harness.audit.records]
    assert reported == [(action, "not_found") for action in (*actions, "thread.write", "tool.approve")]


async def test_a_foreign_id_that_begins_no_conversation_is_a_denial(harness: Harness) -> None:
    harness.thread_id = resolve_thread_ref(harness.ada, "booking-4711").id
    first = harness.request(thread_id="booking-4711")
    await harness.turns.run(harness.ada, first, lambda event: None, seconds=20)
    with pytest.raises(ThreadUnavailable):
        await harness.say("m2", scope=Scope("rivals", "ada"))
    assert [(r.action, r.outcome) for r in harness.audit.records] == [("thread.write", "denied")]


@pytest.mark.parametrize("stranger", [Scope("acme", "eve"), Scope("rivals", "ada")])
async def test_strangers_cancel_and_close_nothing(harness: Harness, stranger: Scope) -> None:
    await harness.say()
    with pytest.raises(ThreadUnavailable):
        await harness.controls.cancel(stranger, harness.thread_id, "run-1")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.close(stranger, harness.thread_id, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await harness.closer.close(stranger, harness.thread_id, EndReason.USER_CLOSED, patience=1)
    assert {r.outcome for r in harness.audit.records} == {"denied"}
    assert harness.queue.sent == []
