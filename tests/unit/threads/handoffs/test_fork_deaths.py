"""Forks whose workers die while they are made: nothing inherited is lost, and nothing is there twice."""

from __future__ import annotations

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.threads.message import StoredMessage
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import HandoffHarness, texts, transfer
from tests.harness.harness import TODAY, Turn
from tests.harness.state_checks import call, check_handoffs

BEFORE = [("user", "My dog is Rex."), ("assistant", "Good dog.")]
ASKED = ("user", "Please help")


async def hold_conversation() -> HandoffHarness:
    """Ada has said something before; the helper works in a fork."""
    harness = HandoffHarness(Answer(("Good dog.",)), context_mode="forked", recent_messages=5)
    await harness.say("before", "My dog is Rex.")
    return harness


async def die_at_write(harness: HandoffHarness, monkeypatch: pytest.MonkeyPatch, operation: str, after: int) -> None:
    """Deliver the message to a worker that dies at a write, gives nothing back, and whose leases run out."""
    fail_once(monkeypatch, harness.store, operation, after=after)
    fail_once(monkeypatch, harness.store, "abandon")
    with pytest.raises(StoreUnavailable):
        await harness.say("m1", "Please help")
    harness.clock.advance(40)


async def repeat_message(harness: HandoffHarness) -> Turn:
    """Deliver the message again."""
    turn = await harness.say("m1", "Please help")
    check_run([event.body for event in turn.events], attempt=turn.last["metadata"]["attempt"])
    await check_handoffs(harness)
    return turn


async def fork(harness: HandoffHarness) -> list[StoredMessage]:
    """The messages in the fork of the only handoff."""
    [handoff] = await harness.list_handoffs()
    child = await harness.store.get_thread(harness.ada, handoff["childThreadId"])
    page = await harness.store.read_messages(harness.ada, child, limit=100, before=None)
    assert [message.ordinal for message in page.messages] == list(range(child.next_ordinal))
    return list(page.messages)


def list_spoken(messages: list[StoredMessage]) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in messages if message.is_said]


def list_writes(messages: int) -> list[tuple[str, int]]:
    """Return each write of a run that makes a fork: the operation, and the number of its earlier calls."""
    return [("open_turn", 1), *(("put_message", after) for after in range(messages)), ("commit", 0), ("commit", 1)]


@pytest.mark.parametrize(("operation", "after"), list_writes(messages=6))
async def test_a_worker_that_dies_while_the_fork_is_made_loses_none_of_the_inherited_messages(
    monkeypatch: pytest.MonkeyPatch, operation: str, after: int
) -> None:
    harness = await hold_conversation()
    answers = (transfer("helper"), "How can I help?")
    harness.model.script(*answers)
    await die_at_write(harness, monkeypatch, operation, after)
    harness.model.forget()
    harness.model.script(*answers)
    turn = await repeat_message(harness)

    assert texts(turn)[0][0] == "Helper"
    assert list_spoken(await fork(harness)) == [*BEFORE, ASKED, ("assistant", "How can I help?")]
    harness.model.forget()
    harness.model.script("I see.")
    await harness.say("m2", "It is broken")
    assert harness.model.requests[-1].contents[1:] == [
        *BEFORE,
        ASKED,
        ("assistant", "How can I help?"),
        TODAY,
        ("user", "It is broken"),
    ]


@pytest.mark.parametrize(("operation", "after"), list_writes(messages=8))
async def test_a_handoff_that_begins_and_ends_in_a_run_whose_worker_died_has_its_fork(
    monkeypatch: pytest.MonkeyPatch, operation: str, after: int
) -> None:
    harness = await hold_conversation()
    back = Answer.calling(call("return_to_main", summary="Helped.", outcome="completed"), text="Helped at once.")
    harness.model.script(transfer("helper"), back)
    await die_at_write(harness, monkeypatch, operation, after)
    harness.model.forget()
    harness.model.script(transfer("helper"), back)
    turn = await repeat_message(harness)

    assert texts(turn) == [
        ("Helper", "Helped at once."),
        ("Helper", "Returning you to the main assistant."),
        ("Assistant", "You're back with me. What else can I do for you?"),
    ]
    [handoff] = await harness.list_handoffs()
    assert handoff["outcome"] == "returned"
    assert list_spoken(await fork(harness))[: len(BEFORE) + 1] == [*BEFORE, ASKED]
    assert ("assistant", "Helped at once.") in list_spoken(await fork(harness))
