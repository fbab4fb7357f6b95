"""Calls that models may not make, and specialists that never return."""

from __future__ import annotations

import pytest

from baton.domain.errors import ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HELPER, HandoffHarness, advance, texts, transfer
from tests.harness.state_checks import active, call, check_handoffs, define, results, to, with_fields

# What models call


@pytest.mark.parametrize(
    ("call_", "expected"),
    [
        (call("advance_workflow", state="BUILD"), "ASK is not complete"),
        (call("advance_workflow", state="BUILD", data={"name": 7}), "data does not fit"),
        (call("advance_workflow", state="BUILD", data={"name": "Box", "colour": "red"}), "data does not fit"),
        (call("advance_workflow", state="DONE", data={"name": "Box"}), "DONE cannot follow ASK"),
        (call("advance_workflow", state="NOWHERE"), "state"),
        (call("advance_workflow", data={"name": "Box"}), "state"),
        (call("advance_workflow", state="BUILD", data="Box"), "data"),
    ],
)
async def test_what_a_workflow_does_not_allow_is_explained_to_the_model_and_changes_nothing(
    call_: ToolCall, expected: str
) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), Answer.calling(call_), Answer(("Once more, please.",)))
    await harness.say()
    before = await harness.state()
    turn = await harness.say("m2", "Box")

    assert expected in (await results(harness))[-1]
    assert (await results(harness))[-1].startswith("Error: ")
    assert await harness.state() == before
    assert [event.type for event in turn.events if event.type in ("STATE_DELTA", "ACTIVITY_SNAPSHOT")] == []
    assert texts(turn) == [("Maker", "Once more, please.")]


async def test_missing_fields_are_named_and_can_be_given_in_the_next_call() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advance("BUILD"), advance("BUILD", name="Box"))
    await harness.say()
    await harness.say("m2", "Box")
    assert "Still missing: name." in (await results(harness))[-2]
    assert (await harness.state())["workflow"]["state"] == "BUILD"


async def test_the_main_agent_advances_and_returns_nothing() -> None:
    bad = [call("advance_workflow", "a", state="BUILD"), call("return_to_main", "b", summary="s", outcome="done")]
    harness = HandoffHarness(Answer.calling(*bad), Answer(("Sorry.",)))
    turn = await harness.say()
    assert [result.startswith("Error: ") for result in await results(harness)] == [True, True]
    assert texts(turn) == [("Assistant", "Sorry.")]
    assert await harness.list_handoffs() == []


@pytest.mark.parametrize("target", ["assistant", "nobody", "librarian", "maker "])
async def test_a_transfer_to_itself_or_to_an_agent_that_is_not_declared_is_an_unknown_tool(target: str) -> None:
    harness = HandoffHarness(Answer.calling(to(target)), Answer(("Sorry.",)))
    turn = await harness.say()
    assert (await results(harness))[0].startswith("Error: ")
    assert texts(turn) == [("Assistant", "Sorry.")]
    assert (await active(harness), await harness.list_handoffs()) == ("assistant", [])


async def test_a_transfer_to_an_agent_that_has_left_the_deployment_is_an_error_for_the_model() -> None:
    harness = HandoffHarness(transfer(), Answer(("Sorry.",)))
    del harness.shipped_agents.definitions["maker"]
    turn = await harness.say()
    assert texts(turn) == [("Assistant", "Sorry.")]
    assert (await active(harness), await harness.list_handoffs()) == ("assistant", [])


@pytest.mark.parametrize(
    "arguments", ["{}", '{"reason": "r"}', "[]", "not json", '{"reason": 1, "context_summary": 2}']
)
async def test_a_transfer_with_bad_arguments_is_an_error_for_the_model(arguments: str) -> None:
    harness = HandoffHarness(Answer.calling(ToolCall("c1", "transfer_to_maker", arguments)), Answer(("Sorry.",)))
    assert texts(await harness.say()) == [("Assistant", "Sorry.")]
    assert (await active(harness), await harness.list_handoffs()) == ("assistant", [])


async def test_of_two_transfers_in_one_answer_the_first_takes_place() -> None:
    harness = HandoffHarness(Answer.calling(to("helper", "a"), to("maker", "b")))
    turn = await harness.say()
    assert texts(turn) == [("Helper", "What shall it be called?")]
    assert "the conversation goes to Helper already" in (await results(harness))[1]
    assert [handoff["targetAgentId"] for handoff in await harness.list_handoffs()] == ["helper"]
    await check_handoffs(harness)


async def test_a_refused_transfer_does_not_undo_another_one_of_the_same_answer() -> None:
    harness = HandoffHarness(Answer.calling(to("locked", "a"), to("maker", "b")))
    await harness.say()
    reported = (await results(harness))[1]
    assert (await active(harness) == "maker") is (reported == "The user is being connected with Maker.")


async def test_a_refused_transfer_does_not_undo_a_return_of_the_same_answer() -> None:
    harness = HandoffHarness(transfer("helper"))
    define(harness, with_fields(HELPER, handoffs=["maker"]))
    await harness.say()
    back = call("return_to_main", "b", summary="Helped.", outcome="done")
    harness.model.script(Answer.calling(to("maker", "a"), back))
    await harness.say("m2", "Thanks")
    assert (await active(harness) == "assistant") is ((await results(harness))[-1] == "done: Helped.")


async def test_a_specialist_hands_nobody_on() -> None:
    harness = HandoffHarness(transfer("helper"))
    define(harness, with_fields(HELPER, handoffs=["maker"]))
    await harness.say()
    harness.model.script(Answer.calling(to("maker")))
    turn = await harness.say("m2", "Make a box")
    assert texts(turn) == [("Helper", "You're currently in a Helper session. Would you like to finish that first?")]
    assert await active(harness) == "helper"
    await check_handoffs(harness)


async def test_advancing_and_returning_in_one_answer_does_both() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    calls = [
        call("advance_workflow", "a", state="BUILD", data={"name": "Box"}),
        call("advance_workflow", "b", state="DONE"),
        call("return_to_main", "c", summary="A box.", outcome="completed"),
        call("return_to_main", "d", summary="Twice.", outcome="completed"),
    ]
    harness.model.script(Answer.calling(*calls))
    turn = await harness.say("m2", "Box")
    assert texts(turn)[-1] == ("Assistant", "Great, your 'Box' is made.")
    assert "already" in (await results(harness))[-1]
    await check_handoffs(harness)
    check_run([event.body for event in turn.events])


# A specialist that never returns


async def test_a_user_who_is_with_a_specialist_that_never_returns_can_always_leave() -> None:
    harness = HandoffHarness(transfer("helper"), return_expected=False)
    await harness.say()
    for number in range(5):
        await harness.say(f"again {number}", "Let me go back to the assistant, please")
    assert await active(harness) == "helper"
    assert not [tool for tool in harness.model.requests[-1].tools if tool.name == "return_to_main"]
    await harness.exit()
    assert await active(harness) == "assistant"
    await check_handoffs(harness)


async def test_a_completed_workflow_stays_complete_where_no_return_is_expected() -> None:
    answers = (transfer(), advance("BUILD", name="Box"), advance("DONE"), Answer(("Anything else?",)))
    harness = HandoffHarness(*answers, return_expected=False)
    await harness.say()
    assert (await active(harness), (await harness.state())["workflow"]["state"]) == ("maker", "DONE")
    harness.model.script(advance("ASK", name="Crate"), Answer(("No.",)))
    await harness.say("m2", "Another name")
    assert (await harness.state())["workflow"]["state"] == "DONE"
    assert texts(await harness.exit())[-1] == ("Assistant", "Great, your 'Box' is made.")
    assert (await harness.state())["resumable"] == []


async def test_a_target_that_answers_with_nothing_is_unavailable_too() -> None:
    harness = HandoffHarness(transfer(), Answer(()), Answer(()))
    turn = await harness.say()
    assert "currently unavailable" in texts(turn)[0][1]
    assert await active(harness) == "assistant"


async def test_a_specialist_that_fails_later_stays_active_and_can_be_left() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), Answer(("Let me",), error=ModelUnavailable()))
    await harness.say()
    turn = await harness.say("m2", "Box")
    assert turn.types[-1] == "RUN_ERROR"
    assert await active(harness) == "maker"
    harness.model.script(Answer((), error=ModelUnavailable()))
    assert (await harness.say("m3", "Box!")).types[-1] == "RUN_ERROR"
    await check_handoffs(harness)
    assert texts(await harness.say("m4", "cancel"))[-1][0] == "Assistant"
    assert await active(harness) == "assistant"
