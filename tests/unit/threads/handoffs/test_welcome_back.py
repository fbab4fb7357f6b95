"""Unfinished workflows that are offered at the beginning of a session: once each, and always to be taken."""

from __future__ import annotations

import uuid
from typing import Any

from baton.domain.threads.thread import EndReason
from tests.e2e.ag_ui_rules import check_run
from tests.harness.handoffs import HandoffHarness, texts, transfer
from tests.harness.harness import Turn

OFFER = ("Assistant", "Welcome back! Would you like to continue making your new thing?")


async def leave_workflows(count: int) -> HandoffHarness:
    """Ada has left so many workflows, one after the other, in one thread."""
    harness = HandoffHarness()
    for number in range(count):
        await harness.say(f"begin {number}", "make a thing")
        await harness.say(f"leave {number}", "cancel")
        harness.clock.advance(60)
    harness.clock.advance(3600)
    assert len(await harness.workflows.list_unfinished(harness.ada)) == count
    return harness


async def begin_conversation(harness: HandoffHarness) -> Turn:
    """Begin another conversation of ada's."""
    harness.thread_id = str(uuid.uuid4())
    turn = await harness.say("m1", "Hello")
    check_run([event.body for event in turn.events])
    return turn


async def list_offered(harness: HandoffHarness) -> set[str]:
    """The workflows that were offered so far."""
    return {entry.workflow.id for entry in await harness.workflows.list_unfinished(harness.ada) if entry.is_offered}


async def list_resumable(harness: HandoffHarness) -> list[str]:
    """Return the ids of the workflows that the user may resume in the thread."""
    return [entry["id"] for entry in (await harness.state())["resumable"]]


def to_choose(harness: HandoffHarness) -> list[str]:
    """Return the ids of the workflows that the model's last tools offer to continue."""
    [tool] = [tool for tool in harness.model.requests[-1].tools if tool.name == "transfer_to_maker"]
    fields: dict[str, Any] = tool.parameters["properties"]
    named: list[str] = fields["workflow_id"]["enum"]
    return named


async def test_the_newest_of_four_unfinished_workflows_is_asked_about_and_each_comes_first_once() -> None:
    harness = await leave_workflows(4)
    for number in range(4):
        before = await list_offered(harness)
        turn = await begin_conversation(harness)
        [new] = await list_offered(harness) - before

        assert [message for message in texts(turn) if message[1].startswith("Welcome")] == (
            [OFFER] if number == 0 else []
        )
        assert (await list_resumable(harness))[0] == new
        assert len(await list_resumable(harness)) == len(set(await list_resumable(harness))) == 3
        assert to_choose(harness) == await list_resumable(harness)
    assert [text for _, text in texts(await begin_conversation(harness))] == ["What shall it be called?"]


async def test_the_fourth_that_is_offered_is_continued_by_a_word_to_the_model() -> None:
    harness = await leave_workflows(4)
    for _ in range(3):
        await begin_conversation(harness)
    before = await list_offered(harness)
    await begin_conversation(harness)
    [new] = await list_offered(harness) - before
    harness.model.script(transfer(workflow_id=new))
    turn = await harness.say("m2", "Yes, please")

    assert texts(turn) == [("Maker", "What shall it be called?")]
    check_run([event.body for event in turn.events])
    state = await harness.state()
    assert state["workflow"]["id"] == new
    assert new not in await list_resumable(harness)


async def test_a_conversation_about_something_else_is_not_interrupted_by_the_question() -> None:
    harness = HandoffHarness()
    await harness.say("m0", "Hello")
    elsewhere = harness.thread_id
    await harness.closer.close(harness.ada, elsewhere, EndReason.USER_CLOSED, patience=5)
    harness.thread_id = str(uuid.uuid4())
    await harness.say("begin", "make a thing")
    await harness.say("leave", "cancel")
    harness.thread_id = elsewhere
    turn = await harness.say("m1", "Hello again")
    assert not [text for _, text in texts(turn) if text.startswith("Welcome")]
    assert len(await list_resumable(harness)) == 1


async def test_who_is_still_in_a_workflow_elsewhere_or_was_a_moment_ago_is_not_welcomed_back() -> None:
    harness = HandoffHarness()
    await harness.say("begin", "make a thing")
    first = harness.thread_id
    harness.clock.advance(3600)
    assert "Welcome" not in str(texts(await begin_conversation(harness)))  # the first conversation is still in it
    harness.thread_id = first
    await harness.say("leave", "cancel")
    assert "Welcome" not in str(texts(await begin_conversation(harness)))
    harness.clock.advance(3600)
    assert texts(await begin_conversation(harness))[0] == OFFER
