"""Handoffs whose workers die or are taken for dead, and those that a person was asked before."""

from __future__ import annotations

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import EndReason
from baton.ports.threads.leases import FENCE_STEP, Lease
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import HandoffHarness, advance, texts, transfer
from tests.harness.harness import Turn
from tests.harness.state_checks import active, call, check_handoffs, define, messages, results, with_fields
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes


async def fail_at(harness: HandoffHarness, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    """Deliver the message to a worker that loses the store as it calls ``operation``."""
    fail_once(monkeypatch, harness.store, operation)
    with pytest.raises(StoreUnavailable):
        await harness.say()


# Workers that die


@pytest.mark.parametrize("operation", ["commit", "put_message"])
async def test_a_handoff_whose_worker_died_takes_place_once(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await fail_at(harness, monkeypatch, operation)
    harness.model.forget()
    harness.model.script(transfer(), "Name?")
    turn = await harness.say()
    assert texts(turn) == [("Maker", "Name?")]
    assert len(await harness.list_handoffs()) == len(await harness.workflows.list_unfinished(harness.ada)) == 1
    await check_handoffs(harness)


async def test_a_handoff_of_a_run_that_is_given_up_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await fail_at(harness, monkeypatch, "commit")
    await fail_at(harness, monkeypatch, "run_messages")
    assert (await harness.say()).last["code"] == "interrupted"
    assert await active(harness) == "assistant"
    await check_handoffs(harness)


async def test_an_exit_whose_worker_died_loses_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = HandoffHarness(transfer())
    await harness.say()
    fail_once(monkeypatch, harness.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await harness.exit()
    turn = await harness.exit()
    view = [text for _, text in texts(turn)]
    assert [message.text for message in await messages(harness)][-2:] == view


async def test_an_approved_call_whose_worker_died_is_not_said_to_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = wiki()
    [interrupt] = await run_until_interrupt(harness)
    harness.model.script("Done.")
    fail_once(monkeypatch, harness.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await answer(harness, yes(interrupt))
    await answer(harness, yes(interrupt))
    assert len(harness.tools.calls) == 1
    assert (await results(harness)) == ["home is gone."]


async def test_a_worker_that_wakes_up_when_its_run_was_taken_over_hands_nobody_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), Answer(("Just an answer.",)))
    really = harness.store.put_message

    async def sleeps(lease: Lease, message: StoredMessage) -> None:
        if message.end is not None and lease.fence == FENCE_STEP:
            harness.clock.advance(31)
            await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
        await really(lease, message)

    monkeypatch.setattr(harness.store, "put_message", sleeps)
    assert texts(await harness.say())[-1] == ("Assistant", "Just an answer.")
    assert await active(harness) == "assistant"
    assert await harness.workflows.list_unfinished(harness.ada) == []
    await check_handoffs(harness)


async def test_a_conversation_that_was_nearly_closed_goes_on_in_a_handoff_that_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = HandoffHarness(transfer("helper"))
    await harness.say()
    fail_once(monkeypatch, harness.store, "close")
    with pytest.raises(StoreUnavailable):
        await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    await harness.say("m2", "Are you there?")
    await check_handoffs(harness)


@pytest.mark.parametrize("mode", ["summary", "recent", "full", "forked"])
@pytest.mark.parametrize("then", ["a message", "an exit word", "another close"])
async def test_a_worker_that_dies_between_the_conversation_state_and_the_close_leaves_the_workflow_to_be_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, then: str, mode: str
) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), context_mode=mode)
    await harness.say()
    await harness.say("m2", "Box")
    fail_once(monkeypatch, harness.store, "close")
    with pytest.raises(StoreUnavailable):
        await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    harness.clock.advance(40)
    harness.model.forget()
    harness.model.script("Hello again.")
    if then == "another close":
        await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    else:
        turn = await harness.say("m3", "Hello" if then == "a message" else "cancel")
        assert texts(turn) == [("Assistant", "Hello again.")]
        check_run([event.body for event in turn.events])

    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    assert [(entry["name"], entry["state"]) for entry in state["resumable"]] == [("your Box", "BUILD")]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["closed"]
    await harness.continue_(state["resumable"][0]["id"])
    assert (await harness.state())["workflow"]["state"] == "BUILD"
    await check_handoffs(harness)


# What a person was asked before


async def test_a_handoff_after_an_approval_brings_the_users_message_along() -> None:
    harness = HandoffHarness(Answer.calling(call("wipe"), text="May I?"))
    wipe = {"type": "python", "name": "wipe", "description": "Wipes.", "entry_point": "wiki:wipe"}
    define(harness, with_fields(harness.assistant, tools=[wipe]))

    async def wiped() -> str:
        return "Wiped."

    harness.tools.add("wipe", wiped, requires_approval=True)
    turn = await harness.say("m1", "Wipe it and make me another one")
    [interrupt] = turn.last["outcome"]["interrupts"]
    harness.model.script(transfer())
    gone_on: Turn = await answer(harness, yes(interrupt))
    assert [who for who, _ in texts(gone_on)] == ["Maker"]
    assert ("user", "Wipe it and make me another one") in harness.model.requests[-1].contents
