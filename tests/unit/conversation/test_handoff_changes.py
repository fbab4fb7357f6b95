"""Handoffs while other things happen: races, permissions that go, definitions that change, time that passes."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from baton.conversation.requests import continue_request
from baton.domain.agent import AgentDefinition
from baton.domain.episode import EndReason
from baton.domain.errors import HandoffInProgress, WorkflowUnavailable
from baton.domain.identity import Scope
from baton.domain.workflow import WorkflowStatus
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.unit.conversation.floor_checks import active, changed, check_handoffs, define
from tests.unit.conversation.handing_over import MAKER, HandoffStage, advance, texts, transfer

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


async def left_unfinished(stage: HandoffStage) -> str:
    """Somebody began a workflow in the stage's thread and has gone on to another thread; the workflow's id."""
    await stage.say()
    stage.thread_id = str(uuid.uuid4())
    await stage.say("elsewhere", "Hello")
    [workflow] = (await stage.state())["resumable"]
    workflow_id: str = workflow["id"]
    return workflow_id


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

    assert texts(said) == [
        ("Assistant", "You went on with your new thing in another conversation."),
        ("Assistant", "What shall it be called?"),
    ]
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


@pytest.mark.parametrize("mode", ["summary", "forked"])
@pytest.mark.parametrize(
    ("meanwhile", "state", "status"),
    [
        ([advance("BUILD", name="Lamp"), advance("DONE")], "DONE", WorkflowStatus.COMPLETED),
        ([advance("BUILD", name="Lamp")], "BUILD", WorkflowStatus.ACTIVE),
    ],
)
async def test_a_workflow_that_is_moved_does_not_overwrite_what_its_own_thread_did_meanwhile(
    meanwhile: list[Answer], state: str, status: WorkflowStatus, mode: str
) -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)), context_mode=mode)
    await stage.say()
    first, second = stage.thread_id, str(uuid.uuid4())
    workflow_id = (await stage.state())["workflow"]["id"]
    stage.model.script(Answer(("Welcome here.",), gate=(gate := asyncio.Event())))
    asked = len(stage.model.asked)
    moving = asyncio.ensure_future(stage.act(continue_request(second, workflow_id, key="now", may_create=True)))
    await stage.model_is_asked(asked + 1)
    stage.clock.advance(5)
    stage.model.script(*meanwhile, "Fine.")
    await stage.say("m2", "Call it Lamp")
    gate.set()
    check_run([event.body for event in (await moving).events])

    kept = await stage.workflows.find(stage.ada, workflow_id)
    assert kept is not None
    assert (kept.thread_id, kept.state, kept.status) == (first, state, status)
    assert kept.data["ASK"] == {"name": "Lamp"}
    await check_handoffs(stage)
    stage.thread_id = second
    assert ((await stage.state())["activeAgent"]["id"], (await stage.state())["workflow"]) == ("assistant", None)
    await check_handoffs(stage)


async def test_a_workflow_can_be_taken_back_into_the_thread_that_lost_it() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    first = stage.thread_id
    workflow_id = await left_unfinished(stage)
    await stage.continue_(workflow_id)
    stage.thread_id = first
    await stage.continue_(workflow_id, "back")
    assert (await stage.state())["workflow"]["id"] == workflow_id
    await check_handoffs(stage)


async def test_continuing_is_refused_in_a_session_also_where_the_main_agent_does_not_know_the_target() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    define(stage, CLERK)
    await stage.say()
    stage.thread_id = str(uuid.uuid4())
    await stage.say("m2", "Hello", agent_id="clerk")
    [workflow] = (await stage.state())["resumable"]
    stage.model.script(transfer("helper"))
    await stage.say("m3", "Help")
    with pytest.raises(HandoffInProgress):
        await stage.continue_(workflow["id"])
    await check_handoffs(stage)


# Permissions


async def test_continuing_needs_the_targets_permission_also_where_the_main_agent_does_not_know_it() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    define(stage, CLERK)
    await stage.say()
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    stage.thread_id = str(uuid.uuid4())
    await stage.say("m2", "Hello", agent_id="clerk")
    [unfinished] = await stage.workflows.unfinished(stage.ada)
    await stage.continue_(unfinished.workflow.id)
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


async def test_nobody_is_offered_what_they_may_not_continue() -> None:
    stage = HandoffStage(transfer(), Answer(("Name?",)))
    await stage.say()
    define(stage, changed(MAKER, required_permissions=["things:make"]))
    stage.thread_id = str(uuid.uuid4())
    assert len(texts(await stage.say("m2", "Hello"))) == 1


@pytest.mark.parametrize("mode", ["summary", "forked"])
@pytest.mark.parametrize("by", ["trigger", "transfer"])
async def test_what_the_handoff_itself_requires_is_required_in_later_turns_too(by: str, mode: str) -> None:
    stage = HandoffStage(required_permissions=["things:make"], context_mode=mode)
    permitted = Scope("acme", "ada", frozenset({"things:make"}))
    if by == "transfer":
        stage.model.script(transfer())
    await stage.say("m1", "make a thing" if by == "trigger" else "Hello", scope=permitted)
    await stage.say("m2", "Well", scope=permitted)
    assert await active(stage) == "maker"
    asked = len(stage.model.asked)
    said = await stage.say("m3", "Box")

    assert len(stage.model.asked) == asked
    assert texts(said) == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    check_run([event.body for event in said.events])
    state = await stage.state()
    assert (state["activeAgent"]["id"], len(state["resumable"])) == ("assistant", 1)
    assert [kept["outcome"] for kept in await stage.handoffs_kept()] == ["failed"]
    await stage.act(continue_request(stage.thread_id, state["resumable"][0]["id"], key="now"), permitted)
    assert await active(stage) == "maker"


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
    with pytest.raises(WorkflowUnavailable):
        await stage.continue_(workflow_id)
    stage.thread_id = str(uuid.uuid4())
    assert len(texts(await stage.say("m3", "Hello"))) == 1
    assert (await stage.state())["resumable"] == []


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


# What clients are shown


async def test_closing_shows_the_end_of_a_workflow_whose_agent_has_left_the_deployment() -> None:
    stage = HandoffStage(transfer())
    said = await stage.say()
    del stage.catalog.definitions["maker"]
    await stage.closer.close(stage.ada, stage.thread_id, EndReason.USER_CLOSED, patience=5)
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    replay = await stage.replays.after(stage.ada, thread, said.events[-1].seq or 0)
    changes = [change["path"] for event in replay.events for change in event.body.get("delta", ())]
    assert "/workflow" in changes
