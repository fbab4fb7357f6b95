"""Forks: branched, worked in apart, merged back message by message, and never listed beside their parents."""

from __future__ import annotations

import pytest

from baton.domain.errors import (
    ApprovalsWaiting,
    ModelUnavailable,
    StoreUnavailable,
    ThreadLed,
    ThreadUnavailable,
    UnknownAgent,
)
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.threads.requests.parsing import make_merge_request
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import HELPER, MAKER, HandoffHarness, advance, calling, texts, transfer
from tests.harness.harness import Harness
from tests.harness.wiki import run_until_interrupt, wiki


async def messages(harness: HandoffHarness, thread_id: str) -> list[StoredMessage]:
    thread = await harness.store.get_thread(harness.ada, thread_id)
    return list((await harness.store.read_messages(harness.ada, thread, limit=100, before=None)).messages)


async def ids(harness: HandoffHarness, parent_thread_id: str | None = None) -> list[str]:
    items, _ = await harness.store.list_threads(harness.ada, limit=50, cursor=None, parent_thread_id=parent_thread_id)
    return [thread.id for thread in items]


async def test_a_fork_begins_with_the_last_messages_and_never_reaches_its_parent() -> None:
    harness = HandoffHarness(Answer(("One.",)), Answer(("Two.",)))
    await harness.say("m1", "First")
    await harness.say("m2", "Second")
    before = await messages(harness, harness.thread_id)
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper", include_history_messages=3)
    parent_id, harness.thread_id = harness.thread_id, fork.id
    turn = await harness.say("m3", "Third")

    assert (fork.agent_id, fork.parent_thread_id) == ("helper", parent_id)
    assert [m.text for m in await messages(harness, fork.id)] == [
        "One.",
        "Second",
        "Two.",
        "Third",
        "What shall it be called?",
    ]
    assert texts(turn) == [("Helper", "What shall it be called?")]
    assert await messages(harness, parent_id) == before
    assert (await ids(harness), await ids(harness, parent_id)) == ([parent_id], [fork.id])


async def test_closing_a_fork_makes_no_episode() -> None:
    from baton.domain.threads.thread import EndReason

    harness = HandoffHarness()
    await harness.say()
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper")
    closed = await harness.closer.close(harness.ada, fork.id, EndReason.USER_CLOSED, patience=1)
    assert (closed.episode_id, harness.closings.started) == (None, {})


async def test_the_last_answer_of_a_fork_is_merged_as_one_message_once() -> None:
    harness = HandoffHarness(Answer(("One.",)), Answer(("From the fork.",)))
    await harness.say("m1", "First")
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper")
    parent_id, harness.thread_id = harness.thread_id, fork.id
    await harness.say("m2", "Work")
    merges = harness.app.merges
    [first] = (await merges.merge(harness.ada, fork.id, seconds=5)).messages
    [again] = (await merges.merge(harness.ada, fork.id, seconds=5)).messages

    assert (first.text, first.source, first.agent_id) == ("From the fork.", "specialist", "helper")
    assert again.id == first.id
    assert [m.text for m in await messages(harness, parent_id)] == ["First", "One.", "From the fork."]


async def answer_in_fork(harness: HandoffHarness) -> tuple[str, str]:
    """A fork of the harness's thread in which the helper has answered, and the id of that answer."""
    await harness.say("m1", "First")
    fork_id = (await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper")).id
    await harness.say("m2", "Work", thread_id=fork_id)
    _, answer = await harness.forks.find_newest_answer(harness.ada, fork_id)
    return fork_id, answer.id


async def test_the_answer_that_was_asked_for_is_merged_though_the_fork_has_gone_on() -> None:
    harness = HandoffHarness(Answer(("One.",)), Answer(("From the fork.",)), Answer(("Later in the fork.",)))
    fork_id, answer_id = await answer_in_fork(harness)
    request = make_merge_request(harness.thread_id, fork_id, answer_id)
    await harness.say("m3", "Go on", thread_id=fork_id)

    assert (await harness.act(request)).text == "From the fork."
    await harness.app.merges.merge(harness.ada, fork_id, seconds=5)
    turn = [m.text for m in await messages(harness, harness.thread_id)]
    assert turn == ["First", "One.", "From the fork.", "Later in the fork."]


@pytest.mark.parametrize("operation", ["put_message", "commit"])
async def test_a_merge_whose_worker_died_is_carried_out_by_the_next_one(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = HandoffHarness(Answer(("One.",)), Answer(("From the fork.",)))
    fork_id, _ = await answer_in_fork(harness)
    fail_once(monkeypatch, harness.store, operation, after=1 if operation == "put_message" else 0)
    fail_once(monkeypatch, harness.store, "abandon")
    with pytest.raises(StoreUnavailable):
        await harness.app.merges.merge(harness.ada, fork_id, seconds=5)
    harness.clock.advance(40)

    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    [merged] = (await harness.app.merges.merge(harness.ada, fork_id, seconds=5)).messages
    assert (merged.text, merged.source) == ("From the fork.", "specialist")
    assert [m.text for m in await messages(harness, harness.thread_id)] == ["First", "One.", "From the fork."]


async def test_an_agent_that_leads_a_fork_hands_over_there_though_it_is_not_main() -> None:
    harness = Harness(others=(HELPER.model_copy(update={"handoffs": (HandoffDefinition(agent="maker"),)}), MAKER))
    await harness.say("m1", "First")
    harness.thread_id = (await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper")).id
    await harness.say("m2", "Make a thing")

    [handoff], _ = await harness.handoffs.of_thread(harness.ada, harness.thread_id, limit=50, cursor=None)
    assert (handoff.source_agent_id, handoff.target_agent_id, handoff.outcome) == ("helper", "maker", None)


async def test_a_fork_led_by_an_agent_with_a_workflow_is_in_none() -> None:
    harness = HandoffHarness(Answer(("One.",)))
    await harness.say("m1", "First")
    harness.thread_id = (await harness.forks.fork(harness.ada, harness.thread_id, agent_id="maker")).id
    await harness.say("m2", "Make a thing")

    state = await harness.state()
    assert (state["activeAgent"]["id"], state["activeAgent"]["isMain"], state["workflow"]) == ("maker", True, None)
    assert "advance_workflow" not in [tool.name for tool in harness.model.requests[-1].tools]


@pytest.mark.parametrize("agent_id", ["nobody", "locked"])
async def test_a_fork_with_an_agent_the_caller_may_not_use_is_refused(agent_id: str) -> None:
    harness = HandoffHarness()
    await harness.say()
    with pytest.raises(UnknownAgent):
        await harness.forks.fork(harness.ada, harness.thread_id, agent_id=agent_id)


@pytest.mark.parametrize(
    "scope", [Scope("acme", "bob"), Scope("acme", "bob", frozenset({"thread:read_all"})), Scope("other", "ada")]
)
async def test_nobody_forks_or_merges_what_is_not_theirs(scope: Scope) -> None:
    harness = HandoffHarness()
    await harness.say()
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="helper")
    with pytest.raises(ThreadUnavailable):
        await harness.forks.fork(scope, harness.thread_id, agent_id="helper")
    with pytest.raises(ThreadUnavailable):
        await harness.app.merges.merge(scope, fork.id, seconds=1)
    assert len(await ids(harness, harness.thread_id)) == 1


async def test_a_forked_specialist_works_in_its_fork_and_its_answers_are_merged() -> None:
    harness = HandoffHarness(
        Answer(("One.",)),
        transfer(),
        Answer.calling(advance("ASK", name="Box").calls[0], text="Let me keep that."),
        Answer(("Blue or red?",)),
        Answer(("Blue it is.",)),
        context_mode="forked",
        recent_messages=1,
    )
    await harness.say("m1", "First")
    turn = await harness.say("m2", "Make a box")
    [handoff] = await harness.list_handoffs()
    child = handoff["childThreadId"]
    await harness.say("m3", "Blue")

    assert texts(turn) == [("Maker", "Let me keep that.\n\nBlue or red?")]
    assert not any(event.type.startswith("TOOL_CALL") for event in turn.events)
    parent = await messages(harness, harness.thread_id)
    assert [(m.text, m.source) for m in parent] == [
        ("First", None),
        ("One.", None),
        ("Make a box", None),
        ("Let me keep that.\n\nBlue or red?", "specialist"),
        ("Blue", None),
        ("Blue it is.", "specialist"),
    ]
    assert [m.text for m in await messages(harness, child) if m.is_said] == [
        "One.",
        "Make a box",
        "Let me keep that.",
        "Blue or red?",
        "Blue",
        "Blue it is.",
    ]
    assert [m.ordinal for m in await messages(harness, child)] == list(range(len(await messages(harness, child))))
    last = [(p.role.value, p.content) for p in harness.model.requests[-1].prompts if p.role.value != "system"]
    assert [content for role, content in last if role in ("user", "assistant")] == [
        "One.",
        "Make a box",
        "Let me keep that.",
        "Blue or red?",
        "Blue",
    ]
    assert await ids(harness, harness.thread_id) == [child]
    assert await ids(harness) == [harness.thread_id]


async def test_a_fork_that_a_specialist_works_in_takes_no_messages() -> None:
    harness = HandoffHarness(transfer(), context_mode="forked")
    await harness.say()
    [handoff] = await harness.list_handoffs()
    harness.thread_id = handoff["childThreadId"]
    with pytest.raises(ThreadLed):
        await harness.say("m2", "Hello there")


async def test_a_forked_specialist_returns_to_the_parent() -> None:
    harness = HandoffHarness(
        transfer("helper"),
        Answer(("How can I help?",)),
        calling("return_to_main", summary="Helped.", outcome="done"),
        context_mode="forked",
    )
    await harness.say()
    turn = await harness.say("m2", "Thanks")
    assert texts(turn) == [
        ("Helper", "Returning you to the main assistant."),
        ("Assistant", "You're back with me. What else can I do for you?"),
    ]
    assert (await harness.state())["activeAgent"]["isMain"]
    check_run([event.body for event in turn.events])


async def test_a_model_that_fails_midway_in_a_fork_closes_its_message() -> None:
    harness = HandoffHarness(transfer("helper"), Answer(("How can I help?",)), context_mode="forked")
    await harness.say()
    harness.model.script(Answer(("Let me",), error=ModelUnavailable()))
    turn = await harness.say("m2", "It is broken")

    assert turn.types[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    check_run([event.body for event in turn.events])
    last = (await messages(harness, harness.thread_id))[-1]
    assert (last.text, last.source, last.status.value) == ("Let me", "specialist", "cancelled")
    assert (await harness.state())["activeAgent"]["id"] == "helper"


async def test_a_model_that_fails_before_its_first_word_in_a_fork_opens_no_message() -> None:
    harness = HandoffHarness(transfer("helper"), Answer(("How can I help?",)), context_mode="forked")
    await harness.say()
    harness.model.script(ModelUnavailable())
    turn = await harness.say("m2", "It is broken")
    assert turn.types == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
    check_run([event.body for event in turn.events])


async def test_a_fork_that_a_handoff_leads_is_not_merged_again() -> None:
    harness = HandoffHarness(transfer(), context_mode="forked")
    await harness.say()
    [handoff] = await harness.list_handoffs()
    before = await messages(harness, harness.thread_id)
    with pytest.raises(ThreadLed):
        await harness.app.merges.merge(harness.ada, handoff["childThreadId"], seconds=5)
    assert await messages(harness, harness.thread_id) == before


async def test_a_merge_that_was_cancelled_before_it_began_takes_place_all_the_same() -> None:
    harness = Harness()
    await harness.say("m1")
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="assistant")
    await harness.say("f1", "Hi", thread_id=fork.id)
    _, answer = await harness.forks.find_newest_answer(harness.ada, fork.id)
    run_id = make_merge_request(harness.thread_id, fork.id, answer.id).run_id
    await harness.live.request_cancel(harness.ada, harness.thread_id, run_id)
    merged = await harness.app.merges.merge(harness.ada, fork.id, seconds=5)
    assert [message.text for message in merged.messages] == [answer.text]


async def test_a_merge_waits_until_the_parents_approvals_are_answered() -> None:
    harness = wiki()
    await run_until_interrupt(harness)
    fork = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="assistant")
    await harness.say("f1", "Hi", thread_id=fork.id)
    with pytest.raises(ApprovalsWaiting):
        await harness.app.merges.merge(harness.ada, fork.id, seconds=5)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.pending is not None
    assert thread.pending.open
