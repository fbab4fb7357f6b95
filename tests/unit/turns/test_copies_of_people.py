"""Branches, forks, merges, copies and dry runs around what people of a desk have said."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import BranchCrossesHandoff, HandoffInProgress, NotRegenerable, UnknownAgent
from tests.harness.desks import DeskHarness
from tests.harness.handoffs import texts
from tests.unit.api.rerunning import Rerunning

AGAIN = {"regenerate": True}


@pytest.fixture
def harness() -> DeskHarness:
    return DeskHarness()


async def help_user(harness: DeskHarness) -> DeskHarness:
    """Ada was with Anna, and is back."""
    await harness.say("m0", "Hello")
    await harness.ask("m1")
    await harness.take()
    await harness.reply("I am Anna.", "p1")
    await harness.say("m2", "My money back, please")
    await harness.hand_back()
    await harness.say("m3", "Thanks!")
    return harness


@pytest.mark.parametrize("branch", [AGAIN, {}], ids=["regenerate", "edit"])
@pytest.mark.parametrize("message_id", ["m0", "m1", "m2", "p1"])
async def test_no_branch_repeats_or_replaces_what_people_said(
    harness: DeskHarness, message_id: str, branch: dict[str, Any]
) -> None:
    await help_user(harness)
    before = (await harness.thread()).next_ordinal
    with pytest.raises(NotRegenerable):
        await harness.say("m9", "Otherwise", branch={"from": message_id, **branch})
    assert (await harness.thread()).next_ordinal == before


async def test_what_was_said_after_people_can_be_answered_again(harness: DeskHarness) -> None:
    await help_user(harness)
    harness.model.script("With pleasure.")
    assert texts(await harness.say("m9", "", branch={"from": "m3", **AGAIN})) == [("Assistant", "With pleasure.")]
    with pytest.raises(NotRegenerable):
        await harness.say("m10", "Otherwise", branch={"from": "m0"})


async def test_no_branch_begins_at_a_desk_and_none_is_selected(harness: DeskHarness) -> None:
    await harness.say("m0", "Hello")
    await harness.say("m0b", "", branch={"from": "m0", **AGAIN})
    await harness.ask("m1")
    with pytest.raises(NotRegenerable):
        await harness.say("m9", "Otherwise", branch={"from": "m0"})
    with pytest.raises(BranchCrossesHandoff):
        await harness.app.branch_selection.select(harness.ada, harness.thread_id, "b0")
    assert (await harness.session()).person is None


async def test_triggers_of_other_agents_are_messages_to_the_person() -> None:
    harness = DeskHarness(billing_triggers=["invoice"])
    await harness.ask()
    await harness.take()
    turn = await harness.say("m2", "It is about an invoice")
    assert turn.events[-1].body["outcome"]["type"] == "delivered"
    assert texts(turn) == []
    assert (await harness.session()).unread == 2


async def test_a_fork_keeps_that_a_person_said_it_and_copies_no_note(harness: DeskHarness) -> None:
    await help_user(harness)
    await harness.ask("m4")
    await harness.take()
    await harness.note("She is difficult.")
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="assistant", include_history_messages=20)
    page = await harness.store.read_messages(harness.ada, fork, limit=50, before=None)
    [messages] = [message for message in page.messages if message.author is not None]
    assert (messages.text, messages.author.name if messages.author else None) == ("I am Anna.", "Anna")
    assert fork.conversation.desk is None
    with pytest.raises(UnknownAgent, match="cannot begin with a desk"):
        await harness.forks.fork(harness.ada, harness.thread_id, agent_id="support")


async def test_a_persons_words_in_a_fork_are_merged_as_no_agents_answer(harness: DeskHarness) -> None:
    await harness.say("m0", "Hello")
    parent = harness.thread_id
    fork = await harness.forks.fork(harness.ada, parent, agent_id="assistant")
    harness.thread_id = fork.id
    await harness.ask("f1")
    await harness.take()
    await harness.reply("I am Anna.", "p1")
    merged = await harness.app.merges.merge(harness.ada, fork.id, seconds=20)
    assert "I am Anna." not in [message.text for message in merged.messages]


async def test_nothing_is_merged_into_a_conversation_at_a_desk(harness: DeskHarness) -> None:
    await harness.say("m0", "Hello")
    parent = harness.thread_id
    fork = await harness.forks.fork(harness.ada, parent, agent_id="assistant")
    harness.thread_id = fork.id
    await harness.say("f1", "Tell me more")
    harness.thread_id = parent
    await harness.ask("m1")
    with pytest.raises(HandoffInProgress, match="people of a desk"):
        await harness.app.merges.merge(harness.ada, fork.id, seconds=20)


async def test_a_sandbox_of_a_turn_at_a_desk_is_answered_by_the_main_agent(harness: DeskHarness) -> None:
    await help_user(harness)
    served = Rerunning(harness)
    path = f"/threads/{harness.thread_id}/sandbox"
    copy = await served.post(path, {"messageId": "m2"}, "thread:read_all", "context:inspect", "pii:read", user="boss")
    assert copy.status_code == 201, copy.text
    assert copy.json()["agentId"] == "assistant"
    items = (await served.get(f"/threads/{copy.json()['id']}/messages", user="boss")).json()["items"]
    assert [item["content"] for item in items if item["metadata"].get("author", {}).get("name") == "Anna"] == [
        "I am Anna."
    ]


async def test_a_dry_run_reaches_no_people(harness: DeskHarness) -> None:
    await help_user(harness)
    served = Rerunning(harness)
    before = served.read_stored_state()
    again = await served.rerun("m1")
    assert again.status_code == 200, again.text
    assert served.read_stored_state() == before
    assert [thread.id for thread in await harness.desk_places.threads(harness.ada, "support", limit=5)] == []
    delivered = await served.rerun("m2")
    assert (delivered.status_code, delivered.json()["code"]) == (409, "rerun_unavailable")
    assert "people of a desk" in delivered.json()["detail"]
