"""Handoffs: which agent is active, what the user is shown of it, and how it comes back."""

from __future__ import annotations

import uuid
from itertools import product

import pytest

from baton.domain.errors import ModelUnavailable, NotInHandoff
from baton.domain.threads.thread import EndReason
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance, calling, texts, transfer
from tests.harness.harness import Turn

MODES = ["summary", "recent", "full", "forked"]
REASONS = {"trigger": "trigger: make a thing", "transfer": "it makes"}


each_way = pytest.mark.parametrize(("by", "mode"), list(product(REASONS, MODES)))
"""Handoffs of every origin and context mode."""


def check(*runs: Turn) -> None:
    """Check that every run follows the rules of AG-UI."""
    for run in runs:
        check_run([event.body for event in run.events])


@each_way
async def test_a_handoff_shows_the_notice_and_the_specialist_speaks_in_the_same_turn(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    turn = await harness.hand_over(by)
    check(turn)

    assert turn.types == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "STATE_DELTA",
        "STATE_DELTA",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    notice, badge, step = turn.events[2].body, turn.events[3].body, turn.events[4].body
    assert notice["activityType"] == "handoff"
    assert notice["content"] == {
        "from": "assistant",
        "to": "maker",
        "label": "Connecting you with Maker...",
        "reason": REASONS[by],
    }
    assert [change["path"] for change in badge["delta"] + step["delta"]] == ["/activeAgent", "/workflow"]
    assert badge["delta"][0]["value"]["name"] == "Maker"
    assert (step["delta"][0]["value"]["step"], step["delta"][0]["value"]["steps"]) == (1, 2)
    assert texts(turn) == [("Maker", "What shall it be called?")]


@each_way
async def test_the_handoff_is_kept_and_the_thread_knows_who_is_active(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))

    [handoff] = await harness.list_handoffs()
    assert (handoff["sourceAgentId"], handoff["targetAgentId"]) == ("assistant", "maker")
    assert (handoff["contextSummary"], handoff["handoffReason"], handoff["contextMode"]) == (
        "Ada wants a thing.",
        REASONS[by],
        mode,
    )
    assert (handoff["outcome"], handoff["endedAt"]) == (None, None)
    assert (handoff["preserveState"], handoff["returnExpected"]) == (True, True)
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["activeAgent"]["isMain"]) == ("maker", False)
    assert (state["workflow"]["state"], state["workflow"]["label"]) == ("ASK", "Asking")


@each_way
async def test_later_messages_go_straight_to_the_specialist(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    first = await harness.hand_over(by)
    requests_before = len(harness.model.requests)
    turn = await harness.say("m2", "Call it Box.")

    requests = harness.model.requests[requests_before - 1 :]
    assert [request.prompts[0].content for request in requests] == ["Make it.", "Make it."]
    assert turn.types[:3] == ["RUN_STARTED", "STATE_SNAPSHOT", "STEP_STARTED"]
    check(first, turn)
    assert texts(turn) == [("Maker", "What shall it be called?")]


@each_way
async def test_a_completed_workflow_returns_with_both_sentences(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    harness.model.script(
        advance("BUILD", name="Box"),
        advance("DONE"),
        calling("return_to_main", summary="A box was made.", outcome="completed"),
    )
    turn = await harness.say("m2", "Call it Box.")

    check(turn)
    assert texts(turn) == [
        ("Maker", "Your thing is ready! Returning you to the main assistant."),
        ("Assistant", "Great, your 'Box' is made."),
    ]
    steps = [event.body["stepName"] for event in turn.events if event.type.startswith("STEP")]
    assert steps == ["ASK", "ASK", "BUILD", "BUILD", "DONE", "DONE"]
    assert (await harness.state())["activeAgent"]["isMain"]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["returned"]


@each_way
async def test_a_specialist_that_forgets_to_return_from_a_completed_workflow_is_returned(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    harness.model.script(advance("BUILD", name="Box"), advance("DONE"), "Done.")
    turn = await harness.say("m2", "Box")
    check(turn)
    assert [who for who, _ in texts(turn)] == ["Maker", "Maker", "Assistant"]
    assert (await harness.state())["activeAgent"]["isMain"]


@pytest.mark.parametrize("word", ["cancel", " Cancel! ", "exit"])
@each_way
async def test_a_typed_exit_word_returns_without_any_model(word: str, by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    requests_before = len(harness.model.requests)
    turn = await harness.say("m2", word)

    assert len(harness.model.requests) == requests_before
    check(turn)
    assert texts(turn) == [
        ("Maker", "No problem! Returning you to the main assistant."),
        ("Assistant", "Let me know if you'd like to continue making it later."),
    ]
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    assert [entry["name"] for entry in state["resumable"]] == ["your new thing"]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["exited"]


@each_way
async def test_an_exit_word_of_another_language_is_answered_in_it(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    turn = await harness.say("m2", "Abbrechen")
    check(turn)
    assert texts(turn) == [("Maker", "Kein Problem!"), ("Assistant", "Sag Bescheid.")]


@each_way
async def test_the_exit_action_is_a_turn_of_its_own_and_repeating_it_changes_nothing(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    turn = await harness.exit()
    again = await harness.exit()

    check(turn, again)
    assert texts(turn)[0] == ("Maker", "No problem! Returning you to the main assistant.")
    assert turn.events[0].body["input"]["messages"] == []
    assert [event.body for event in again.events] == [event.body for event in turn.events]
    with pytest.raises(NotInHandoff):
        await harness.exit("twice")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=50, before=None)
    assert [message.ordinal for message in page.messages] == list(range(thread.next_ordinal))


async def test_a_trigger_hands_over_without_asking_the_main_agent() -> None:
    harness = HandoffHarness(Answer(("Ada wants a box.",)))
    turn = await harness.say("m1", "Please make me a thing")
    check(turn)

    light, maker = harness.model.requests
    assert light.settings.model == "light-model"
    assert maker.prompts[0].content == "Make it."
    assert "Ada wants a box." in str(maker.prompts[1].content)
    assert texts(turn) == [("Maker", "What shall it be called?")]
    [handoff] = await harness.list_handoffs()
    assert (handoff["contextSummary"], handoff["handoffReason"]) == ("Ada wants a box.", "trigger: make a thing")


async def test_a_handoff_that_is_not_permitted_is_refused_in_the_targets_words() -> None:
    harness = HandoffHarness()
    turn = await harness.say("m1", "Open sesame")
    check(turn)

    assert harness.model.requests == []
    assert texts(turn) == [
        ("Assistant", "You don't have permission to enter the cave. Can I help with something else?")
    ]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["refused"]
    denied = [record for record in harness.audit.records if record.outcome == "denied"]
    assert denied[0].detail["permission"] == "cave:enter"
    assert (await harness.state())["activeAgent"]["isMain"]


@each_way
async def test_a_second_session_is_refused_and_the_first_goes_on(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by))
    turn = await harness.say("m2", "I need the help desk")

    check(turn)
    assert texts(turn) == [("Maker", "You're currently in a making session. Would you like to finish that first?")]
    assert (await harness.state())["activeAgent"]["id"] == "maker"


@each_way
async def test_a_target_that_does_not_answer_is_reported_and_the_main_agent_stays(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    turn = await harness.hand_over(by, Answer((), error=ModelUnavailable()))
    check(turn)

    assert texts(turn)[0][0] == "Assistant"
    assert "The Maker is currently unavailable." in texts(turn)[0][1]
    assert turn.types[-1] == "RUN_FINISHED"
    state = await harness.state()
    assert (state["activeAgent"]["isMain"], state["workflow"], state["resumable"]) == (True, None, [])
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["failed"]


@each_way
async def test_an_unfinished_workflow_is_continued_where_it_was_left(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by, Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",))))
    check(await harness.say("m2", "Box"))
    check(await harness.exit())
    [workflow] = (await harness.state())["resumable"]
    turn = await harness.continue_(workflow["id"])

    check(turn)
    assert texts(turn) == [("Maker", "What shall it be called?")]
    assert (await harness.state())["workflow"]["state"] == "BUILD"
    assert (await harness.state())["resumable"] == []


@each_way
async def test_a_user_who_disappeared_is_offered_to_go_on_once_even_in_another_thread(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    check(await harness.hand_over(by, Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",))))
    check(await harness.say("m2", "Box"))
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.TIMEOUT, patience=5)
    harness.clock.advance(3600)
    harness.thread_id = str(uuid.uuid4())
    turn = await harness.say("m3", "Hello")
    later = await harness.say("m4", "Hello again")

    check(turn, later)
    assert texts(turn)[0] == ("Assistant", "Welcome back! Would you like to continue making your Box?")
    assert len(texts(turn)) == 2
    assert len(texts(later)) == 1
    [workflow] = (await harness.state())["resumable"]
    check(await harness.continue_(workflow["id"]))
    assert (await harness.state())["workflow"]["name"] == "your Box"


async def test_a_user_who_comes_back_to_where_a_workflow_was_learns_where_it_went() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    await harness.say()
    await harness.say("m2", "Box")
    [unfinished], first = await harness.workflows.list_unfinished(harness.ada), harness.thread_id
    harness.thread_id = str(uuid.uuid4())
    await harness.say("m3", "Hello")
    await harness.continue_(unfinished.workflow.id)
    harness.thread_id = first
    turn = await harness.say("m4", "Hello again")
    assert texts(turn)[0] == ("Assistant", "You went on with your Box in another conversation.")


async def test_who_asks_for_a_session_at_once_is_not_asked_about_another_one() -> None:
    harness = HandoffHarness(transfer())
    await harness.say()
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    harness.model.script(Answer(("Ada needs help.",)))
    turn = await harness.say("m2", "Get me the help desk")
    assert [who for who, _ in texts(turn)] == ["Helper"]
    await harness.exit()
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    harness.clock.advance(3600)
    assert texts(await harness.say("m3", "Hello"))[0][1].startswith("Welcome back!")


@each_way
async def test_a_specialist_returns_in_the_very_turn_it_was_handed_over_in(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    back = calling("return_to_main", summary="It was made before.", outcome="completed")
    turn = await harness.hand_over(by, back)

    check(turn)
    assert texts(turn) == [
        ("Maker", "No problem! Returning you to the main assistant."),
        ("Assistant", "Let me know if you'd like to continue making it later."),
    ]
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["returned"]
    harness.model.script("Hello again.")
    later = await harness.say("m2", "Hello")
    check(later)
    assert texts(later) == [("Assistant", "Hello again.")]
    assert any("completed: It was made before." in str(content) for _, content in harness.model.requests[-1].contents)


@each_way
async def test_a_whole_workflow_fits_into_the_turn_of_its_handoff(by: str, mode: str) -> None:
    harness = HandoffHarness(context_mode=mode)
    back = calling("return_to_main", summary="A box was made.", outcome="completed")
    turn = await harness.hand_over(by, advance("BUILD", name="Box"), advance("DONE"), back)

    check(turn)
    assert texts(turn)[-1] == ("Assistant", "Great, your 'Box' is made.")
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["returned"]
    check(await harness.say("m2", "make a thing"), await harness.exit())
