"""Handoffs and workflows where something is wrong: bad calls, races, changes behind one's back, workers that die."""

from __future__ import annotations

import asyncio
import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.conversation.requests import continue_request
from baton.domain.agent import AgentDefinition
from baton.domain.episode import EndReason
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.message import Role, StoredMessage
from baton.domain.tool_call import ToolCall
from baton.domain.workflow import WorkflowStatus
from baton.ports.thread_store import Lease
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.unit.conversation.failing import failing_once
from tests.unit.conversation.handing_over import HELPER, MAKER, HandoffStage, advance, texts, transfer
from tests.unit.conversation.stage import Said, Stage
from tests.unit.conversation.wiki import answer, interrupted, wiki, yes

CLERK = AgentDefinition.model_validate(
    {
        "id": "clerk",
        "name": "Clerk",
        "description": "Another main agent, which does not know the maker.",
        "system_prompt": "Be correct.",
        "main": True,
        "handoffs": ["helper"],
    }
)
DAY = timedelta(days=1).total_seconds()


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, json.dumps(arguments))


def to(target: str, call_id: str = "c1") -> ToolCall:
    return call(f"transfer_to_{target}", call_id, reason="it knows", context_summary="Ada asks.")


def changed(agent: AgentDefinition, **fields: Any) -> AgentDefinition:
    return AgentDefinition.model_validate({**agent.model_dump(by_alias=True, exclude_unset=True), **fields})


def define(stage: HandoffStage, agent: AgentDefinition) -> None:
    """Deploy another definition of the agent."""
    stage.catalog.definitions[agent.id] = agent


async def messages(stage: Stage) -> list[StoredMessage]:
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    return list((await stage.store.read_messages(stage.ada, thread, limit=100, before=None)).messages)


async def results(stage: Stage) -> list[str]:
    """What models were told of their calls."""
    return [message.text for message in await messages(stage) if message.role is Role.TOOL]


async def active(stage: HandoffStage) -> str:
    """The agent that has the floor."""
    agent_id: str = (await stage.state())["activeAgent"]["id"]
    return agent_id


async def check_handoffs(stage: HandoffStage) -> None:
    """A handoff lasts exactly as long as the thread names it."""
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    kept, _ = await stage.handoffs.of_thread(stage.ada, stage.thread_id, limit=50, cursor=None)
    lasting = [(request.ordinal, request.number) for request in kept if request.outcome is None]
    assert lasting == ([tuple(thread.floor.handoff)] if thread.floor.handoff is not None else [])


async def fails_to(stage: HandoffStage, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    """The message comes, and its worker loses the store as it calls ``operation``."""
    failing_once(monkeypatch, stage.store, operation)
    with pytest.raises(StoreUnavailable):
        await stage.say()


async def left_unfinished(stage: HandoffStage) -> str:
    """Somebody began a workflow in the stage's thread and has gone on to another thread; the workflow's id."""
    await stage.say()
    stage.thread_id = str(uuid.uuid4())
    await stage.say("elsewhere", "Hello")
    [workflow] = (await stage.state())["resumable"]
    workflow_id: str = workflow["id"]
    return workflow_id


# What models call


@pytest.mark.parametrize(
    ("call_", "told"),
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
    call_: ToolCall, told: str
) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), Answer.calling(call_), Answer(("Once more, please.",)))
    await stage.say()
    before = await stage.state()
    said = await stage.say("m2", "Box")

    assert told in (await results(stage))[-1]
    assert (await results(stage))[-1].startswith("Error: ")
    assert await stage.state() == before
    assert [event.type for event in said.events if event.type in ("STATE_DELTA", "ACTIVITY_SNAPSHOT")] == []
    assert texts(said) == [("Maker", "Once more, please.")]


async def test_missing_fields_are_named_and_can_be_given_in_the_next_call() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), advance("BUILD"), advance("BUILD", name="Box"))
    await stage.say()
    await stage.say("m2", "Box")
    assert "Still missing: name." in (await results(stage))[-2]
    assert (await stage.state())["workflow"]["state"] == "BUILD"


async def test_the_main_agent_advances_and_returns_nothing() -> None:
    bad = [call("advance_workflow", "a", state="BUILD"), call("return_to_main", "b", summary="s", outcome="done")]
    stage = HandoffStage(Answer.calling(*bad), Answer(("Sorry.",)))
    said = await stage.say()
    assert [result.startswith("Error: ") for result in await results(stage)] == [True, True]
    assert texts(said) == [("Assistant", "Sorry.")]
    assert await stage.handoffs_kept() == []


@pytest.mark.parametrize("target", ["assistant", "nobody", "librarian", "maker "])
async def test_a_transfer_to_itself_or_to_an_agent_that_is_not_declared_is_an_unknown_tool(target: str) -> None:
    stage = HandoffStage(Answer.calling(to(target)), Answer(("Sorry.",)))
    said = await stage.say()
    assert (await results(stage))[0].startswith("Error: ")
    assert texts(said) == [("Assistant", "Sorry.")]
    assert (await active(stage), await stage.handoffs_kept()) == ("assistant", [])


async def test_a_transfer_to_an_agent_that_has_left_the_deployment_is_an_error_for_the_model() -> None:
    stage = HandoffStage(transfer(), Answer(("Sorry.",)))
    del stage.catalog.definitions["maker"]
    said = await stage.say()
    assert texts(said) == [("Assistant", "Sorry.")]
    assert (await active(stage), await stage.handoffs_kept()) == ("assistant", [])


@pytest.mark.parametrize(
    "arguments", ["{}", '{"reason": "r"}', "[]", "not json", '{"reason": 1, "context_summary": 2}']
)
async def test_a_transfer_with_bad_arguments_is_an_error_for_the_model(arguments: str) -> None:
    stage = HandoffStage(Answer.calling(ToolCall("c1", "transfer_to_maker", arguments)), Answer(("Sorry.",)))
    assert texts(await stage.say()) == [("Assistant", "Sorry.")]
    assert (await active(stage), await stage.handoffs_kept()) == ("assistant", [])


async def test_of_two_transfers_in_one_answer_the_first_takes_place() -> None:
    stage = HandoffStage(Answer.calling(to("helper", "a"), to("maker", "b")))
    said = await stage.say()
    assert texts(said) == [("Helper", "What shall it be called?")]
    assert "the conversation goes to Helper already" in (await results(stage))[1]
    assert [kept["targetAgentId"] for kept in await stage.handoffs_kept()] == ["helper"]
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="the refused transfer wins, though the other call was told that it takes place")
async def test_a_refused_transfer_does_not_undo_another_one_of_the_same_answer() -> None:
    stage = HandoffStage(Answer.calling(to("locked", "a"), to("maker", "b")))
    await stage.say()
    told = (await results(stage))[1]
    assert (await active(stage) == "maker") is (told == "The user is being connected with Maker.")


@pytest.mark.xfail(strict=True, reason="the refused transfer wins, though the specialist was told that it has returned")
async def test_a_refused_transfer_does_not_undo_a_return_of_the_same_answer() -> None:
    stage = HandoffStage(transfer("helper"))
    define(stage, changed(HELPER, handoffs=["maker"]))
    await stage.say()
    back = call("return_to_main", "b", summary="Helped.", outcome="done")
    stage.model.script(Answer.calling(to("maker", "a"), back))
    await stage.say("m2", "Thanks")
    assert (await active(stage) == "assistant") is ((await results(stage))[-1] == "done: Helped.")


async def test_a_specialist_hands_nobody_on() -> None:
    stage = HandoffStage(transfer("helper"))
    define(stage, changed(HELPER, handoffs=["maker"]))
    await stage.say()
    stage.model.script(Answer.calling(to("maker")))
    said = await stage.say("m2", "Make a box")
    assert texts(said) == [("Helper", "You're currently in a Helper session. Would you like to finish that first?")]
    assert await active(stage) == "helper"
    await check_handoffs(stage)


async def test_advancing_and_returning_in_one_answer_does_both() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    calls = [
        call("advance_workflow", "a", state="BUILD", data={"name": "Box"}),
        call("advance_workflow", "b", state="DONE"),
        call("return_to_main", "c", summary="A box.", outcome="completed"),
        call("return_to_main", "d", summary="Twice.", outcome="completed"),
    ]
    stage.model.script(Answer.calling(*calls))
    said = await stage.say("m2", "Box")
    assert texts(said)[-1] == ("Assistant", "Great, your 'Box' is made.")
    assert "already" in (await results(stage))[-1]
    await check_handoffs(stage)
    check_run([event.body for event in said.events])


# A specialist that never returns


async def test_whoever_is_with_a_specialist_that_never_returns_can_always_leave() -> None:
    stage = HandoffStage(
        transfer(
            "helper",
        ),
        return_expected=False,
    )
    await stage.say()
    for number in range(5):
        await stage.say(f"again {number}", "Let me go back to the assistant, please")
    assert await active(stage) == "helper"
    assert not [tool for tool in stage.model.asked[-1].tools if tool.name == "return_to_main"]
    await stage.exit()
    assert await active(stage) == "assistant"
    await check_handoffs(stage)


async def test_a_completed_workflow_stays_complete_where_no_return_is_expected() -> None:
    answers = (transfer(), advance("BUILD", name="Box"), advance("DONE"), Answer(("Anything else?",)))
    stage = HandoffStage(*answers, return_expected=False)
    await stage.say()
    assert (await active(stage), (await stage.state())["workflow"]["state"]) == ("maker", "DONE")
    stage.model.script(advance("ASK", name="Crate"), Answer(("No.",)))
    await stage.say("m2", "Another name")
    assert (await stage.state())["workflow"]["state"] == "DONE"
    assert texts(await stage.exit())[-1] == ("Assistant", "Great, your 'Box' is made.")
    assert (await stage.state())["resumable"] == []


@pytest.mark.xfail(strict=True, reason="a target that answers with nothing keeps the floor; the run ends in an error")
async def test_a_target_that_answers_with_nothing_is_unavailable_too() -> None:
    stage = HandoffStage(transfer(), Answer(()))
    said = await stage.say()
    assert "currently unavailable" in texts(said)[0][1]
    assert await active(stage) == "assistant"


async def test_a_specialist_that_fails_later_keeps_the_floor_and_can_be_left() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), Answer(("Let me",), error=ModelUnavailable()))
    await stage.say()
    said = await stage.say("m2", "Box")
    assert said.types[-1] == "RUN_ERROR"
    assert await active(stage) == "maker"
    stage.model.script(Answer((), error=ModelUnavailable()))
    assert (await stage.say("m3", "Box!")).types[-1] == "RUN_ERROR"
    await check_handoffs(stage)
    assert texts(await stage.say("m4", "cancel"))[-1][0] == "Assistant"
    assert await active(stage) == "assistant"


# Races


@pytest.mark.parametrize("second", ["make a thing", "help desk", "Hello", "cancel"])
async def test_of_two_messages_at_once_one_hands_over_and_the_other_finds_it_so(second: str) -> None:
    stage = HandoffStage()
    both = [stage.say("m1", "make a thing"), stage.say("m2", second)]
    said = sorted(await asyncio.gather(*both), key=lambda each: each.seqs[0] or 0)
    for each in said:
        check_run([event.body for event in each.events])
    assert await active(stage) == ("assistant" if second == "cancel" and said[1].text.startswith("No") else "maker")
    assert [kept["outcome"] for kept in await stage.handoffs_kept()].count(None) <= 1
    await check_handoffs(stage)


async def test_a_workflow_continued_in_two_threads_at_once_goes_on_in_one() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    workflow_id = await left_unfinished(stage)
    second = stage.thread_id
    stage.thread_id = third = str(uuid.uuid4())
    await stage.say("m5", "Hello")
    requests = [continue_request(thread_id, workflow_id, key="now") for thread_id in (second, third)]
    await asyncio.gather(*(stage.act(request) for request in requests))
    holding = []
    for thread_id in (second, third):
        stage.thread_id = thread_id
        await check_handoffs(stage)
        state = await stage.state()
        holding += [thread_id] if state["workflow"] is not None else []
        assert (state["workflow"] is None) is (state["activeAgent"]["id"] == "assistant")
    kept = await stage.workflows.find(stage.ada, workflow_id)
    assert kept is not None
    assert holding == [kept.thread_id]


async def test_a_thread_lets_go_of_a_workflow_that_is_continued_elsewhere() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    first = stage.thread_id
    workflow_id = await left_unfinished(stage)
    second = stage.thread_id
    await stage.continue_(workflow_id)
    stage.thread_id = first
    said = await stage.say("m9", "Box")

    assert texts(said) == [("Assistant", "What shall it be called?")]
    assert await active(stage) == "assistant"
    assert [kept["outcome"] for kept in await stage.handoffs_kept()] == ["closed"]
    kept = await stage.workflows.find(stage.ada, workflow_id)
    assert kept is not None
    assert (kept.thread_id, kept.status) == (second, WorkflowStatus.ACTIVE)


@pytest.mark.parametrize("way", ["exit", "close", "cancel"])
async def test_leaving_a_thread_leaves_the_workflow_alone_that_goes_on_elsewhere(way: str) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    first = stage.thread_id
    workflow_id = await left_unfinished(stage)
    second = stage.thread_id
    await stage.continue_(workflow_id)
    stage.thread_id = first
    match way:
        case "exit":
            await stage.exit()
        case "close":
            await stage.closer.close(stage.ada, first, EndReason.USER_CLOSED, patience=5)
        case _:
            await stage.say("m9", way)
    assert await active(stage) == "assistant"
    await check_handoffs(stage)
    kept = await stage.workflows.find(stage.ada, workflow_id)
    assert kept is not None
    assert (kept.thread_id, kept.status) == (second, WorkflowStatus.ACTIVE)


@pytest.mark.xfail(strict=True, reason="the thread that has lost its workflow still counts as being in a session")
async def test_a_workflow_can_be_taken_back_into_the_thread_that_lost_it() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    first = stage.thread_id
    workflow_id = await left_unfinished(stage)
    await stage.continue_(workflow_id)
    stage.thread_id = first
    await stage.continue_(workflow_id, "back")
    assert (await stage.state())["workflow"]["id"] == workflow_id
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="a main agent that does not declare the target skips the check for a session")
async def test_continuing_is_refused_in_a_session_also_where_the_main_agent_does_not_know_the_target() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    define(stage, CLERK)
    await stage.say()
    stage.thread_id = str(uuid.uuid4())
    await stage.say("m2", "Hello", agent_id="clerk")
    [workflow] = (await stage.state())["resumable"]
    stage.model.script(transfer("helper"))
    await stage.say("m3", "Help")
    await stage.continue_(workflow["id"])
    await check_handoffs(stage)


# Permissions


@pytest.mark.xfail(strict=True, reason="a main agent that does not declare the target skips the check of permissions")
async def test_continuing_needs_the_targets_permission_also_where_the_main_agent_does_not_know_it() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    define(stage, CLERK)
    await stage.say()
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    stage.thread_id = str(uuid.uuid4())
    await stage.say("m2", "Hello", agent_id="clerk")
    [workflow] = (await stage.state())["resumable"]
    await stage.continue_(workflow["id"])
    assert await active(stage) == "clerk"


async def test_continuing_needs_the_targets_permission() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    workflow_id = await left_unfinished(stage)
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    assert "permission" in texts(await stage.continue_(workflow_id))[0][1]
    assert await active(stage) == "assistant"
    maker = Scope("acme", "ada", frozenset({"things:make"}))
    await stage.act(continue_request(stage.thread_id, workflow_id, key="now"), maker)
    assert await active(stage) == "maker"


async def test_a_user_who_loses_the_permission_loses_the_specialist_and_no_work() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    maker = Scope("acme", "ada", frozenset({"things:make"}))
    await stage.say(scope=maker)
    await stage.say("m2", "Box", scope=maker)
    asked = len(stage.model.asked)
    said = await stage.say("m3", "Go on")

    assert len(stage.model.asked) == asked
    assert texts(said) == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    state = await stage.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    assert [each["state"] for each in state["resumable"]] == ["BUILD"]
    assert [kept["outcome"] for kept in await stage.handoffs_kept()] == ["failed"]
    assert [record.detail["permission"] for record in stage.audit.records if record.outcome == "denied"] == [
        "things:make"
    ]
    await stage.act(continue_request(stage.thread_id, state["resumable"][0]["id"], key="now"), maker)
    assert (await stage.state())["workflow"]["state"] == "BUILD"


@pytest.mark.xfail(strict=True, reason="a workflow is offered that continuing then refuses")
async def test_nobody_is_offered_what_they_may_not_continue() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    stage.thread_id = str(uuid.uuid4())
    assert len(texts(await stage.say("m2", "Hello"))) == 1


# Definitions that change, and time that passes


async def test_a_workflow_whose_state_is_gone_begins_anew_and_keeps_what_was_collected() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    await stage.say()
    await stage.say("m2", "Box")
    states = [state for state in MAKER.model_dump(exclude_unset=True)["workflow"]["states"] if state["name"] != "BUILD"]
    define(stage, changed(MAKER, workflow={"name": "making", "title": "your {name}", "states": states}))
    said = await stage.say("m3", "Go on")

    assert texts(said)[0] == (
        "Maker",
        "The steps have changed since you were last here, so we go on with Asking.",
    )
    state = await stage.state()
    assert (state["workflow"]["state"], state["workflow"]["steps"]) == ("ASK", 2)
    kept = await stage.workflows.find(stage.ada, state["workflow"]["id"])
    assert kept is not None
    assert kept.data["ASK"] == {"name": "Box"}
    assert len(texts(await stage.say("m4", "Go on"))) == 1


async def test_a_specialist_that_leads_through_no_workflow_any_more_lets_go() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    define(stage, changed(MAKER, workflow=None))
    said = await stage.say("m2", "Box")
    assert [who for who, _ in texts(said)] == ["Assistant"]
    assert (await stage.state())["workflow"] is None
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="a workflow is given up for good once its agent is not in the deployment")
async def test_a_workflow_outlives_a_deployment_without_its_agent() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    del stage.catalog.definitions["maker"]
    await stage.say("m2", "Box")
    define(stage, MAKER)
    assert len(await stage.workflows.unfinished(stage.ada)) == 1


async def test_a_specialist_that_has_left_the_deployment_is_unavailable() -> None:
    stage = HandoffStage(transfer("helper"))
    await stage.say()
    del stage.catalog.definitions["helper"]
    said = await stage.say("m2", "Box")
    assert texts(said)[0][0] == "Assistant"
    assert "currently unavailable" in texts(said)[0][1]
    assert await active(stage) == "assistant"
    await check_handoffs(stage)


async def test_an_expired_workflow_is_neither_gone_on_with_nor_offered_nor_continued() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    workflow_id = (await stage.state())["workflow"]["id"]
    stage.clock.advance(31 * DAY)
    said = await stage.say("m2", "Box")
    assert [who for who, _ in texts(said)] == ["Assistant"]
    assert await active(stage) == "assistant"
    await check_handoffs(stage)
    assert (await stage.continue_(workflow_id)).last["code"] == "workflow_unavailable"
    stage.thread_id = str(uuid.uuid4())
    assert len(texts(await stage.say("m3", "Hello"))) == 1
    assert (await stage.state())["resumable"] == []


@pytest.mark.xfail(strict=True, reason="closing a thread saves its expired workflow, which lives on for another month")
async def test_closing_a_thread_does_not_revive_its_expired_workflow() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    stage.clock.advance(31 * DAY)
    await stage.closer.close(stage.ada, stage.thread_id, EndReason.TIMEOUT, patience=5)
    assert await stage.workflows.unfinished(stage.ada) == []


@pytest.mark.parametrize(
    "trigger", ["(a+)+$", "(a|aa)+b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "(a{1,30}){1,30}z"]
)
async def test_a_trigger_that_is_a_catastrophe_for_backtracking_costs_nothing(trigger: str) -> None:
    stage = HandoffStage()
    define(stage, changed(MAKER, triggers=[trigger]))
    for number, text in enumerate(["a" * 19_999 + "!", "x" * 20_000, "aA" * 10_000]):
        assert (await stage.say(f"m{number}", text)).types[-1] == "RUN_FINISHED"


# Workers that die


@pytest.mark.parametrize("operation", ["commit", "put_message"])
async def test_a_handoff_whose_worker_died_takes_place_once(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), transfer(), Answer(("Name?",)))
    await fails_to(stage, monkeypatch, operation)
    said = await stage.say()
    assert texts(said) == [("Maker", "Name?")]
    assert len(await stage.handoffs_kept()) == len(await stage.workflows.unfinished(stage.ada)) == 1
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="what a dead worker has carried out stays, though its run is given up")
async def test_a_handoff_of_a_run_that_is_given_up_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await fails_to(stage, monkeypatch, "commit")
    await fails_to(stage, monkeypatch, "run_messages")
    assert (await stage.say()).last["code"] == "interrupted"
    assert await active(stage) == "assistant"
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="the answer is adopted with what stood for its first message in its place")
async def test_an_exit_whose_worker_died_loses_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = HandoffStage(transfer())
    await stage.say()
    failing_once(monkeypatch, stage.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await stage.exit()
    said = await stage.exit()
    shown = [text for _, text in texts(said)]
    assert [message.text for message in await messages(stage)][-2:] == shown


@pytest.mark.xfail(strict=True, reason="the answer is adopted with what stood for its first message in its place")
async def test_an_approved_call_whose_worker_died_is_not_said_to_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = wiki()
    [interrupt] = await interrupted(stage)
    stage.model.script("Done.")
    failing_once(monkeypatch, stage.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await answer(stage, yes(interrupt))
    await answer(stage, yes(interrupt))
    assert len(stage.tools.calls) == 1
    assert (await results(stage)) == ["home is gone."]


@pytest.mark.xfail(strict=True, reason="the floor's records are guarded by their own fences, not by that of the thread")
async def test_a_worker_that_wakes_up_when_its_run_was_taken_over_hands_nobody_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), Answer(("Just an answer.",)))
    really = stage.store.put_message

    async def sleeps(lease: Lease, message: StoredMessage) -> None:
        if message.end is not None and lease.fence == 1:
            stage.clock.advance(31)
            await stage.turns.finish_interrupted(stage.ada, stage.thread_id)
        await really(lease, message)

    monkeypatch.setattr(stage.store, "put_message", sleeps)
    assert texts(await stage.say())[-1] == ("Assistant", "Just an answer.")
    assert await active(stage) == "assistant"
    assert await stage.workflows.unfinished(stage.ada) == []
    await check_handoffs(stage)


@pytest.mark.xfail(strict=True, reason="a handoff that a closing has ended goes on if its worker dies before the close")
async def test_a_conversation_that_was_nearly_closed_goes_on_in_a_handoff_that_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = HandoffStage(transfer("helper"))
    await stage.say()
    failing_once(monkeypatch, stage.store, "close")
    with pytest.raises(StoreUnavailable):
        await stage.closer.close(stage.ada, stage.thread_id, EndReason.USER_CLOSED, patience=5)
    await stage.say("m2", "Are you there?")
    await check_handoffs(stage)


# What clients are shown


@pytest.mark.xfail(strict=True, reason="what has changed is told by today's definitions, not by what clients have seen")
async def test_closing_shows_the_end_of_a_workflow_whose_agent_has_left_the_deployment() -> None:
    stage = HandoffStage(transfer())
    said = await stage.say()
    del stage.catalog.definitions["maker"]
    await stage.closer.close(stage.ada, stage.thread_id, EndReason.USER_CLOSED, patience=5)
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    replay = await stage.replays.after(stage.ada, thread, said.events[-1].seq or 0)
    changes = [change["path"] for event in replay.events for change in event.body.get("delta", ())]
    assert "/workflow" in changes


# What a person was asked before


@pytest.mark.xfail(strict=True, reason="the target is not given the message, which is not the first of the run")
async def test_a_handoff_after_an_approval_brings_the_users_message_along() -> None:
    stage = HandoffStage(Answer.calling(call("wipe"), text="May I?"))
    wipe = {"type": "python", "name": "wipe", "description": "Wipes.", "entry_point": "wiki:wipe"}
    define(stage, changed(stage.assistant, tools=[wipe]))

    async def wiped() -> str:
        return "Wiped."

    stage.tools.add("wipe", wiped, requires_approval=True)
    said = await stage.say("m1", "Wipe it and make me another one")
    [interrupt] = said.last["outcome"]["interrupts"]
    stage.model.script(transfer())
    gone_on: Said = await answer(stage, yes(interrupt))
    assert [who for who, _ in texts(gone_on)] == ["Maker"]
    assert ("user", "Wipe it and make me another one") in stage.model.asked[-1].contents
