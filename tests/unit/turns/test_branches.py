"""Regenerating, editing and selecting: what goes on, what stays, and what never branches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.errors import (
    BranchCrossesHandoff,
    BranchUnavailable,
    InvalidRequest,
    MessageIdConflict,
    ModelUnavailable,
    RunInProgress,
    ThreadUnavailable,
    TooManyBranches,
)
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance
from tests.harness.harness import Harness, Turn
from tests.harness.sessions import close, make_episode


def regenerate(message_id: str) -> dict[str, Any]:
    return {"from": message_id, "regenerate": True}


def edit(message_id: str) -> dict[str, Any]:
    return {"from": message_id}


async def list_shown(harness: Harness) -> list[tuple[str, str]]:
    """The selected conversation, as clients read it."""
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=100, before=None)
    return [(message.shown_id if message.role == "user" else "", message.text) for message in page.messages]


async def hold_conversation(*answers: str) -> HandoffHarness:
    """Ada and her assistant have exchanged messages; later answers are scripted."""
    harness = HandoffHarness(*(Answer((text,)) for text in ("One.", "Two.", *answers)))
    await harness.say("m1", "First")
    await harness.say("m2", "Second")
    return harness


def prompt(harness: Harness) -> list[str]:
    """The model's last prompt, without the system prompt."""
    return [str(content) for role, content in harness.model.requests[-1].contents if role != "system"]


def branch_of(turn: Turn) -> Any:
    return turn.events[0].body["metadata"].get("branch")


async def select(harness: Harness, branch_id: str, scope: Scope | None = None) -> int:
    selected = await harness.app.branch_selection.select(scope or harness.ada, harness.thread_id, branch_id)
    return selected.last_seq


async def test_a_regenerated_answer_replaces_the_answer_and_leaves_the_message() -> None:
    harness = await hold_conversation("Another two.")
    turn = await harness.say("w1", branch=regenerate("m2"))
    assert turn.text == "Another two."
    assert prompt(harness) == ["First", "One.", "Second"]
    assert await list_shown(harness) == [("m1", "First"), ("", "One."), ("m2", "Second"), ("", "Another two.")]


async def test_an_edited_message_begins_again_from_before_it() -> None:
    harness = await hold_conversation("Three.", "Four.")
    await harness.say("m3", "First, but better", branch=edit("m1"))
    assert prompt(harness) == ["First, but better"]
    await harness.say("m4", "On")
    assert prompt(harness) == ["First, but better", "Three.", "On"]
    assert await list_shown(harness) == [("m3", "First, but better"), ("", "Three."), ("m4", "On"), ("", "Four.")]


async def test_open_tabs_learn_what_to_drop_and_what_to_show() -> None:
    harness = await hold_conversation("Another two.")
    before = await list_shown(harness)
    turn = await harness.say("w1", branch=regenerate("m2"))
    started = turn.events[0].body
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread.unbranched, limit=10, before=None)
    assert before[1] == ("", "One.")
    assert branch_of(turn) == {"branchId": "b4", "from": "m2", "regenerate": True, "after": page.messages[1].id}
    assert started["metadata"]["messageId"] == "w1"
    assert [(message["id"], message["content"]) for message in started["input"]["messages"]] == [("m2", "Second")]
    first = await harness.say("m9", "Other", branch=edit("m1"))
    assert branch_of(first) == {"branchId": "b6", "from": "m1", "regenerate": False, "after": None}


async def test_a_request_that_is_repeated_gets_the_same_answer() -> None:
    harness = await hold_conversation("Another two.")
    first = await harness.say("w1", branch=regenerate("m2"))
    again = await harness.say("w1", branch=regenerate("m2"))
    assert [event.body for event in again.events] == [event.body for event in first.events]
    assert len(harness.model.requests) == 3
    edited = await harness.say("m3", "Better", branch=edit("m1"))
    again = await harness.say("m3", "Better", branch=edit("m1"))
    assert [event.body for event in again.events] == [event.body for event in edited.events]


async def test_a_message_that_is_repeated_never_branches() -> None:
    harness = await hold_conversation("Another two.")
    await harness.say("w1", branch=regenerate("m2"))
    for run_id in (None, "another run"):
        again = await harness.say("m2", "Second", run_id=run_id)
        assert again.text == "Two."
    assert (await list_shown(harness))[-1] == ("", "Another two.")


@pytest.mark.parametrize(
    ("content", "branch"),
    [("Second", edit("m1")), ("Second", regenerate("m2")), ("Third", edit("m2"))],
    ids=["an edit", "a regenerate", "an edit of itself"],
)
async def test_an_id_that_was_used_for_something_else_never_becomes_a_request(content: str, branch: Any) -> None:
    harness = await hold_conversation()
    with pytest.raises(MessageIdConflict):
        await harness.say("m2", content, branch=branch)
    assert len(await list_shown(harness)) == 4


async def test_a_regenerated_message_can_be_regenerated_again_by_either_id() -> None:
    harness = await hold_conversation("A.", "B.", "C.")
    await harness.say("w1", branch=regenerate("m2"))
    await harness.say("w2", branch=regenerate("m2"))
    turn = await harness.say("w3", branch=regenerate("w1"))
    assert branch_of(turn)["from"] == "m2"
    assert await list_shown(harness) == [("m1", "First"), ("", "One."), ("m2", "Second"), ("", "C.")]


async def test_two_tabs_that_regenerate_at_once_get_an_answer_each() -> None:
    harness = await hold_conversation("A.", "B.")
    first, second = await asyncio.gather(
        harness.say("w1", branch=regenerate("m2")), harness.say("w2", branch=regenerate("m2"))
    )
    assert {first.text, second.text} == {"A.", "B."}
    assert len(await list_shown(harness)) == 4


async def test_the_same_request_sent_twice_at_once_is_carried_out_once() -> None:
    harness = await hold_conversation("A.", "B.")
    first, second = await asyncio.gather(
        harness.say("w1", branch=regenerate("m2")), harness.say("w1", branch=regenerate("m2"))
    )
    assert (first.text, second.text) == ("A.", "A.")
    assert len(harness.model.requests) == 3


async def test_a_message_of_a_branch_that_is_not_selected_can_be_taken_up() -> None:
    harness = await hold_conversation("Three.", "Four.")
    await harness.say("m3", "Other", branch=edit("m1"))
    await harness.say("w1", branch=regenerate("m2"))
    assert await list_shown(harness) == [("m1", "First"), ("", "One."), ("m2", "Second"), ("", "Four.")]


async def test_a_request_for_a_message_that_is_not_there_stores_nothing() -> None:
    harness = await hold_conversation()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=10, before=None)
    for from_id in ("m7", page.messages[1].id):
        with pytest.raises(BranchUnavailable):
            await harness.say("w1", branch=regenerate(from_id))
    after = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (after.next_ordinal, after.run) == (thread.next_ordinal, None)
    assert (await harness.say("w1", "Hello again")).text


async def test_a_request_begins_no_conversation() -> None:
    harness = Harness()
    with pytest.raises(ThreadUnavailable):
        await harness.say("w1", branch=regenerate("m1"))
    with pytest.raises(InvalidRequest):
        await harness.say("w1", branch=regenerate("m1"), thread_id=None)


async def test_nobody_branches_the_conversation_of_another_user() -> None:
    harness = await hold_conversation()
    for scope in (Scope("acme", "bob"), Scope("acme", "bob", frozenset({"thread:read_all"})), Scope("other", "ada")):
        with pytest.raises(ThreadUnavailable):
            await harness.say("w1", branch=regenerate("m2"), scope=scope)
        with pytest.raises(ThreadUnavailable):
            await select(harness, "b2", scope)


async def test_a_selected_branch_goes_on_as_far_as_it_had_come() -> None:
    harness = await hold_conversation("Another two.", "Three.", "Five.")
    await harness.say("w1", branch=regenerate("m2"))
    await harness.say("m3", "Third")
    await select(harness, "b2")
    assert await list_shown(harness) == [("m1", "First"), ("", "One."), ("m2", "Second"), ("", "Two.")]
    await harness.say("m4", "Fourth")
    assert prompt(harness) == ["First", "One.", "Second", "Two.", "Fourth"]
    await select(harness, "b4")
    assert (await list_shown(harness))[-3:] == [("", "Another two."), ("m3", "Third"), ("", "Three.")]
    await select(harness, "b2")
    assert (await list_shown(harness))[-1] == ("", "Five.")


async def test_tabs_learn_of_a_selected_branch_and_a_repetition_says_nothing() -> None:
    harness = await hold_conversation("Another two.")
    await harness.live.attach(harness.ada, harness.thread_id, "tab", harness.subscriber("tab").token_expires_at)
    await harness.say("w1", branch=regenerate("m2"))
    seq = (await harness.store.get_thread(harness.ada, harness.thread_id)).last_seq
    assert await select(harness, "b2") == seq + 1
    assert await select(harness, "b2") == seq + 1
    reported = [event for event in harness.connections.events("tab") if event.get("name") == "branch_selected"]
    assert [(entry["value"]["branchId"], entry["metadata"]["seq"]) for entry in reported] == [("b2", seq + 1)]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, seq)
    assert [event.body["value"] for event in replay.events] == [reported[0]["value"]]


async def test_events_of_replaced_answers_are_replayed_with_the_rest() -> None:
    harness = await hold_conversation("Another two.")
    turn = await harness.say("w1", branch=regenerate("m2"))
    await select(harness, "b2")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, 0)
    assert [event.seq for event in replay.events] == list(range(1, thread.last_seq + 1))
    assert [event.body for event in turn.events] == [
        event.body for event in replay.events if event.run_id == turn.events[0].run_id
    ]


async def test_no_branch_is_selected_while_an_answer_is_in_progress() -> None:
    harness = await hold_conversation("Another two.")
    await harness.say("w1", branch=regenerate("m2"))
    gate = asyncio.Event()
    harness.model.script(Answer(("Slow.",), gate=gate))
    running = asyncio.ensure_future(harness.say("m3", "Third"))
    await harness.wait_for_requests(4)
    with pytest.raises(RunInProgress):
        await select(harness, "b2")
    gate.set()
    await running
    await select(harness, "b2")


async def test_no_branch_is_selected_before_a_dead_workers_run_is_finished() -> None:
    harness = await hold_conversation("Another two.")
    await harness.say("w1", branch=regenerate("m2"))
    await die(harness, "m3", "Third", request=4)
    with pytest.raises(RunInProgress):
        await select(harness, "b2")
    harness.model.script("Third.")
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert (await list_shown(harness))[-1] == ("", "Third.")


async def test_a_request_that_is_repeated_asks_no_model() -> None:
    harness = await hold_conversation("Another two.")
    for _ in range(3):
        await harness.say("w1", branch=regenerate("m2"))
    assert len(harness.model.requests) == 3


async def die(harness: Harness, message_id: str, content: str, *, request: int, **fields: Any) -> None:
    """Let a worker die in the middle of its answer, after it has stored the question."""
    harness.model.script(Answer(("Lost", "."), gate=asyncio.Event(), gate_at=1))
    dead = asyncio.ensure_future(harness.say(message_id, content, **fields))
    await harness.wait_for_requests(request)
    await asyncio.sleep(0.05)
    dead.cancel()
    await asyncio.gather(dead, return_exceptions=True)
    harness.clock.advance(60)


@pytest.mark.parametrize("branch", [regenerate("m2"), edit("m2")], ids=["regenerate", "edit"])
async def test_a_branch_whose_worker_dies_is_finished_by_the_next_one(branch: Any) -> None:
    harness = await hold_conversation()
    await die(harness, "w1", "Second, but better", request=3, branch=branch)
    assert (await list_shown(harness))[-1] == ("", "Two.")
    harness.model.script("Found.")
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    first = ("m2", "Second") if "regenerate" in branch else ("w1", "Second, but better")
    assert await list_shown(harness) == [("m1", "First"), ("", "One."), first, ("", "Found.")]
    again = await harness.say("w1", "Second, but better", branch=branch)
    assert again.text == "Found."
    assert branch_of(again)["branchId"] == "b4"


@pytest.mark.parametrize("kind", [regenerate, edit])
async def test_a_branch_by_the_id_of_a_regenerate_is_finished_by_the_next_worker_too(kind: Any) -> None:
    harness = await hold_conversation("Another two.")
    await harness.say("w1", branch=regenerate("m2"))
    await die(harness, "w2", "Better", request=4, branch=kind("w1"))
    harness.model.script("Found.")
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert (await list_shown(harness))[-1] == ("", "Found.")


async def test_a_branch_that_is_cancelled_or_fails_keeps_the_other_ones() -> None:
    harness = await hold_conversation()
    harness.model.script(Answer(("Half",), error=ModelUnavailable()))
    await harness.say("w1", branch=regenerate("m2"))
    assert (await list_shown(harness))[-1] == ("", "Half")
    await select(harness, "b2")
    assert (await list_shown(harness))[-1] == ("", "Two.")


async def test_a_conversation_with_a_hundred_branches_takes_no_more_and_goes_on() -> None:
    harness = await hold_conversation()
    for number in range(100):
        await harness.say(f"w{number}", branch=regenerate("m2"))
    with pytest.raises(TooManyBranches):
        await harness.say("w100", branch=regenerate("m2"))
    assert (await harness.say("w99", branch=regenerate("m2"))).text  # a repeat is not a new request
    with pytest.raises(TooManyBranches):
        await select(harness, "b2")
    await harness.say("m3", "On")
    assert len(await list_shown(harness)) == 6


# Sessions and episodes


async def test_an_episode_is_made_of_the_branch_that_was_selected_at_its_end() -> None:
    harness = await hold_conversation("Another two.", "Three.")
    await harness.say("w1", branch=regenerate("m2"))
    await close(harness)
    await harness.say("w2", branch=regenerate("m2"))  # later branches change nothing
    episode = await make_episode(harness)
    assert episode.message_count == 4
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    windows = harness.app.memory.episode_messages.read_windows(harness.ada, thread, episode.ref)
    reported = [(entry.id, entry.content) async for window in windows for entry in window]
    assert [text for _, text in reported] == ["First", "One.", "Second", "Another two."]
    assert reported[2][0] == "m2"


async def test_a_message_of_an_ended_session_can_be_answered_again() -> None:
    harness = await hold_conversation("Another two.")
    await close(harness, EndReason.TIMEOUT)
    await harness.say("w1", branch=regenerate("m2"))
    assert prompt(harness) == ["First", "One.", "Second"]
    await close(harness)
    episode = await make_episode(harness, 2)
    assert episode.message_count == 2


async def test_selecting_alone_makes_no_episode() -> None:
    harness = await hold_conversation("Another two.")
    await harness.say("w1", branch=regenerate("m2"))
    episode = await close(harness)
    await select(harness, "b2")
    assert await close(harness) == episode
    await harness.say("w2", branch=regenerate("m1"))
    assert (await close(harness)) not in (episode, None)


# Handoffs and workflows


async def test_a_branch_from_before_a_handoff_is_the_main_agents_and_the_workflow_can_be_continued() -> None:
    harness = HandoffHarness()
    harness.model.script("Hello.")
    await harness.say("m0", "Hi")
    await harness.hand_over("trigger", "What shall it be called?")
    assert (await harness.state())["activeAgent"]["id"] == "maker"
    harness.model.script("Hello again.")
    turn = await harness.say("w1", branch=regenerate("m0"))
    assert turn.text == "Hello again."
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    [handoff] = await harness.list_handoffs()
    assert handoff["outcome"] == "closed"
    snapshot = next(event.body["snapshot"] for event in turn.events if event.type == "STATE_SNAPSHOT")
    assert snapshot["activeAgent"]["id"] == "assistant"


async def test_the_message_that_led_to_a_handoff_can_be_answered_again() -> None:
    harness = HandoffHarness()
    await harness.hand_over("trigger", "What shall it be called?")
    harness.model.script("Ada wants a thing.", "How shall it be named?")
    turn = await harness.say("w1", branch=regenerate("m1"))
    assert turn.text.endswith("How shall it be named?")
    assert (await harness.state())["activeAgent"]["id"] == "maker"
    assert [entry["outcome"] for entry in await harness.list_handoffs()] == [None, "closed"]


async def test_an_answer_of_a_specialist_can_be_made_again_while_its_work_stands_where_it_stood() -> None:
    harness = HandoffHarness()
    await harness.hand_over("trigger", "What shall it be called?")
    harness.model.script("A name, please.", "Which name?")
    await harness.say("m2", "Well")
    turn = await harness.say("w1", branch=regenerate("m2"))
    assert turn.text == "Which name?"
    assert (await harness.state())["activeAgent"]["id"] == "maker"


async def test_no_branch_begins_where_a_specialists_work_has_gone_on() -> None:
    harness = HandoffHarness()
    await harness.hand_over("trigger", "What shall it be called?")
    harness.model.script("A name, please.", advance("BUILD", name="Box"), "Building.")
    await harness.say("m2", "Well")
    await harness.say("m3", "Box")
    before = await list_shown(harness)
    with pytest.raises(BranchCrossesHandoff):
        await harness.say("w1", branch=regenerate("m2"))
    await harness.exit()
    with pytest.raises(BranchCrossesHandoff):
        await harness.say("w1", branch=edit("m3"))
    assert (await list_shown(harness))[: len(before)] == before


async def test_selecting_a_branch_leaves_the_specialist_of_the_other_one() -> None:
    harness = await hold_conversation()
    harness.model.script("Ada wants a thing.", "What shall it be called?")
    await harness.say("m3", "Please make me a thing", branch=edit("m2"))
    assert (await harness.state())["activeAgent"]["id"] == "maker"
    seq = (await harness.store.get_thread(harness.ada, harness.thread_id)).last_seq
    await select(harness, "b2")
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    reported = (await harness.replays.replay_after(harness.ada, thread, seq)).events
    assert [event.type for event in reported][:2] == ["CUSTOM", "STATE_DELTA"]
    with pytest.raises(BranchCrossesHandoff):
        await select(harness, "b4")


# Retries never branch


requests = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["say", "edit", "regenerate"]), st.integers(0, 5)), max_size=12
)


@given(requests)
async def test_whatever_is_repeated_each_id_is_answered_once_and_only_requests_branch(
    sent: list[tuple[int, str, int]],
) -> None:
    harness = Harness()
    await harness.say("m0", "say 0")
    meant: dict[str, tuple[str, int]] = {"m0": ("say", 0)}
    answers: dict[str, str] = {}
    branches = 0
    for number, kind, about in sent:
        message_id = f"m{number}"
        kind, about = meant.get(message_id, (kind, about))  # a retry is the same request again
        branch = None if kind == "say" else {"from": f"m{about}", "regenerate": kind == "regenerate"}
        harness.model.script(f"answer {len(answers)}")
        try:
            turn = await harness.say(message_id, f"say {number}", branch=branch)
        except BranchUnavailable:
            harness.model.forget()
            continue
        harness.model.forget()
        is_new = message_id not in meant
        meant.setdefault(message_id, (kind, about))
        branches += is_new and kind != "say"
        assert answers.setdefault(message_id, turn.text) == turn.text
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert len(thread.segments) == branches
    assert thread.next_ordinal == 2 * len(meant)
