"""Handoffs while other things happen: races, permissions that go, definitions that change, time that passes."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import HandoffInProgress, WorkflowUnavailable
from baton.domain.handoffs.workflow import WorkflowStatus
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from baton.threads.requests.parsing import make_continue_request
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import MAKER, HandoffHarness, advance, texts, transfer
from tests.harness.state_checks import active, check_handoffs, define, with_fields

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


async def leave_unfinished(harness: HandoffHarness) -> str:
    """Begin a workflow in the harness's thread, continue in another thread, and return the workflow's id."""
    await harness.say()
    harness.thread_id = str(uuid.uuid4())
    await harness.say("elsewhere", "Hello")
    [workflow] = (await harness.state())["resumable"]
    workflow_id: str = workflow["id"]
    return workflow_id


# Races


@pytest.mark.parametrize("second", ["make a thing", "help desk", "Hello", "cancel"])
async def test_of_two_messages_at_once_one_hands_over_and_the_other_finds_it_so(second: str) -> None:
    harness = HandoffHarness()
    both = [harness.say("m1", "make a thing"), harness.say("m2", second)]
    turn = sorted(await asyncio.gather(*both), key=lambda entry: entry.seqs[0] or 0)
    for entry in turn:
        check_run([event.body for event in entry.events])
    assert await active(harness) == ("assistant" if second == "cancel" and turn[1].text.startswith("No") else "maker")
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()].count(None) <= 1
    await check_handoffs(harness)


async def test_a_workflow_continued_in_two_threads_at_once_goes_on_in_one() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    workflow_id = await leave_unfinished(harness)
    second = harness.thread_id
    harness.thread_id = third = str(uuid.uuid4())
    await harness.say("m5", "Hello")
    requests = [make_continue_request(thread_id, workflow_id, key="now") for thread_id in (second, third)]
    await asyncio.gather(*(harness.act(request) for request in requests))
    holding = []
    for thread_id in (second, third):
        harness.thread_id = thread_id
        await check_handoffs(harness)
        state = await harness.state()
        holding += [thread_id] if state["workflow"] is not None else []
        assert (state["workflow"] is None) is (state["activeAgent"]["id"] == "assistant")
    workflow = await harness.workflows.find(harness.ada, workflow_id)
    assert workflow is not None
    assert holding == [workflow.thread_id]


async def test_a_thread_lets_go_of_a_workflow_that_is_continued_elsewhere() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    first = harness.thread_id
    workflow_id = await leave_unfinished(harness)
    second = harness.thread_id
    await harness.continue_(workflow_id)
    harness.thread_id = first
    turn = await harness.say("m9", "Box")

    assert texts(turn) == [
        ("Assistant", "You went on with your new thing in another conversation."),
        ("Assistant", "What shall it be called?"),
    ]
    assert await active(harness) == "assistant"
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["closed"]
    workflow = await harness.workflows.find(harness.ada, workflow_id)
    assert workflow is not None
    assert (workflow.thread_id, workflow.status) == (second, WorkflowStatus.ACTIVE)


@pytest.mark.parametrize("way", ["exit", "close", "cancel"])
async def test_leaving_a_thread_leaves_the_workflow_alone_that_goes_on_elsewhere(way: str) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    first = harness.thread_id
    workflow_id = await leave_unfinished(harness)
    second = harness.thread_id
    await harness.continue_(workflow_id)
    harness.thread_id = first
    match way:
        case "exit":
            await harness.exit()
        case "close":
            await harness.closer.close(harness.ada, first, EndReason.USER_CLOSED, patience=5)
        case _:
            await harness.say("m9", way)
    assert await active(harness) == "assistant"
    await check_handoffs(harness)
    workflow = await harness.workflows.find(harness.ada, workflow_id)
    assert workflow is not None
    assert (workflow.thread_id, workflow.status) == (second, WorkflowStatus.ACTIVE)


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
    harness = HandoffHarness(transfer(), Answer(("Name?",)), context_mode=mode)
    await harness.say()
    first, second = harness.thread_id, str(uuid.uuid4())
    workflow_id = (await harness.state())["workflow"]["id"]
    harness.model.script(Answer(("Welcome here.",), gate=(gate := asyncio.Event())))
    requests_before = len(harness.model.requests)
    moving = asyncio.ensure_future(harness.act(make_continue_request(second, workflow_id, key="now", may_create=True)))
    await harness.wait_for_requests(requests_before + 1)
    harness.clock.advance(5)
    harness.model.script(*meanwhile, "Fine.")
    await harness.say("m2", "Call it Lamp")
    gate.set()
    check_run([event.body for event in (await moving).events])

    workflow = await harness.workflows.find(harness.ada, workflow_id)
    assert workflow is not None
    assert (workflow.thread_id, workflow.state, workflow.status) == (first, state, status)
    assert workflow.data["ASK"] == {"name": "Lamp"}
    await check_handoffs(harness)
    harness.thread_id = second
    assert ((await harness.state())["activeAgent"]["id"], (await harness.state())["workflow"]) == ("assistant", None)
    await check_handoffs(harness)


async def test_a_workflow_can_be_taken_back_into_the_thread_that_lost_it() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    first = harness.thread_id
    workflow_id = await leave_unfinished(harness)
    await harness.continue_(workflow_id)
    harness.thread_id = first
    await harness.continue_(workflow_id, "back")
    assert (await harness.state())["workflow"]["id"] == workflow_id
    await check_handoffs(harness)


async def test_continuing_is_refused_in_a_session_also_where_the_main_agent_does_not_know_the_target() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    define(harness, CLERK)
    await harness.say()
    harness.thread_id = str(uuid.uuid4())
    await harness.say("m2", "Hello", agent_id="clerk")
    [workflow] = (await harness.state())["resumable"]
    harness.model.script(transfer("helper"))
    await harness.say("m3", "Help")
    with pytest.raises(HandoffInProgress):
        await harness.continue_(workflow["id"])
    await check_handoffs(harness)


# Permissions


async def test_continuing_needs_the_targets_permission_also_where_the_main_agent_does_not_know_it() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    define(harness, CLERK)
    await harness.say()
    define(harness, with_fields(MAKER, required_permissions=["things:make"]))
    harness.thread_id = str(uuid.uuid4())
    await harness.say("m2", "Hello", agent_id="clerk")
    [unfinished] = await harness.workflows.list_unfinished(harness.ada)
    await harness.continue_(unfinished.workflow.id)
    assert await active(harness) == "clerk"


async def test_continuing_needs_the_targets_permission() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    workflow_id = await leave_unfinished(harness)
    define(harness, with_fields(MAKER, required_permissions=["things:make"]))
    assert "permission" in texts(await harness.continue_(workflow_id))[0][1]
    assert await active(harness) == "assistant"
    maker = Scope("acme", "ada", frozenset({"things:make"}))
    await harness.act(make_continue_request(harness.thread_id, workflow_id, key="now"), maker)
    assert await active(harness) == "maker"


async def test_a_user_who_loses_the_permission_loses_the_specialist_and_no_work() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    define(harness, with_fields(MAKER, required_permissions=["things:make"]))
    maker = Scope("acme", "ada", frozenset({"things:make"}))
    await harness.say(scope=maker)
    await harness.say("m2", "Box", scope=maker)
    requests_before = len(harness.model.requests)
    turn = await harness.say("m3", "Go on")

    assert len(harness.model.requests) == requests_before
    assert texts(turn) == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"]) == ("assistant", None)
    assert [entry["state"] for entry in state["resumable"]] == ["BUILD"]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["failed"]
    assert [record.detail["permission"] for record in harness.audit.records if record.outcome == "denied"] == [
        "things:make"
    ]
    await harness.act(make_continue_request(harness.thread_id, state["resumable"][0]["id"], key="now"), maker)
    assert (await harness.state())["workflow"]["state"] == "BUILD"


async def test_nobody_is_offered_what_they_may_not_continue() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    define(harness, with_fields(MAKER, required_permissions=["things:make"]))
    harness.thread_id = str(uuid.uuid4())
    assert len(texts(await harness.say("m2", "Hello"))) == 1


@pytest.mark.parametrize("mode", ["summary", "forked"])
@pytest.mark.parametrize("by", ["trigger", "transfer"])
async def test_what_the_handoff_itself_requires_is_required_in_later_turns_too(by: str, mode: str) -> None:
    harness = HandoffHarness(required_permissions=["things:make"], context_mode=mode)
    permitted = Scope("acme", "ada", frozenset({"things:make"}))
    if by == "transfer":
        harness.model.script(transfer())
    await harness.say("m1", "make a thing" if by == "trigger" else "Hello", scope=permitted)
    await harness.say("m2", "Well", scope=permitted)
    assert await active(harness) == "maker"
    requests_before = len(harness.model.requests)
    turn = await harness.say("m3", "Box")

    assert len(harness.model.requests) == requests_before
    assert texts(turn) == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    check_run([event.body for event in turn.events])
    state = await harness.state()
    assert (state["activeAgent"]["id"], len(state["resumable"])) == ("assistant", 1)
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["failed"]
    await harness.act(make_continue_request(harness.thread_id, state["resumable"][0]["id"], key="now"), permitted)
    assert await active(harness) == "maker"


# Definitions that change, and time that passes


async def test_a_workflow_whose_state_is_gone_begins_again_and_keeps_what_was_collected() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    await harness.say()
    await harness.say("m2", "Box")
    states = [state for state in MAKER.model_dump(exclude_unset=True)["workflow"]["states"] if state["name"] != "BUILD"]
    define(harness, with_fields(MAKER, workflow={"name": "making", "title": "your {name}", "states": states}))
    turn = await harness.say("m3", "Go on")

    assert texts(turn)[0] == ("Maker", "The steps have changed since you were last here, so we go on with Asking.")
    state = await harness.state()
    assert (state["workflow"]["state"], state["workflow"]["steps"]) == ("ASK", 1)
    workflow = await harness.workflows.find(harness.ada, state["workflow"]["id"])
    assert workflow is not None
    assert workflow.data["ASK"] == {"name": "Box"}
    assert len(texts(await harness.say("m4", "Go on"))) == 1


async def test_a_specialist_that_leads_through_no_workflow_any_more_lets_go() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    define(harness, with_fields(MAKER, workflow=None))
    turn = await harness.say("m2", "Box")
    assert [who for who, _ in texts(turn)] == ["Assistant"]
    assert (await harness.state())["workflow"] is None
    await check_handoffs(harness)


async def test_a_workflow_outlives_a_deployment_without_its_agent() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    del harness.shipped_agents.definitions["maker"]
    await harness.say("m2", "Box")
    define(harness, MAKER)
    assert len(await harness.workflows.list_unfinished(harness.ada)) == 1


async def test_a_specialist_that_has_left_the_deployment_is_unavailable() -> None:
    harness = HandoffHarness(transfer("helper"))
    await harness.say()
    del harness.shipped_agents.definitions["helper"]
    turn = await harness.say("m2", "Box")
    assert texts(turn)[0][0] == "Assistant"
    assert "currently unavailable" in texts(turn)[0][1]
    assert await active(harness) == "assistant"
    await check_handoffs(harness)


async def test_an_expired_workflow_is_neither_gone_on_with_nor_offered_nor_continued() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    workflow_id = (await harness.state())["workflow"]["id"]
    harness.clock.advance(31 * DAY)
    turn = await harness.say("m2", "Box")
    assert [who for who, _ in texts(turn)] == ["Assistant"]
    assert await active(harness) == "assistant"
    await check_handoffs(harness)
    with pytest.raises(WorkflowUnavailable):
        await harness.continue_(workflow_id)
    harness.thread_id = str(uuid.uuid4())
    assert len(texts(await harness.say("m3", "Hello"))) == 1
    assert (await harness.state())["resumable"] == []


async def test_closing_a_thread_does_not_revive_its_expired_workflow() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    await harness.say()
    harness.clock.advance(31 * DAY)
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.TIMEOUT, patience=5)
    assert await harness.workflows.list_unfinished(harness.ada) == []


@pytest.mark.parametrize(
    "trigger", ["(a+)+$", "(a|aa)+b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "(a{1,30}){1,30}z"]
)
async def test_a_trigger_that_is_a_catastrophe_for_backtracking_costs_nothing(trigger: str) -> None:
    harness = HandoffHarness()
    define(harness, with_fields(MAKER, triggers=[trigger]))
    for number, text in enumerate(["a" * 19_999 + "!", "x" * 20_000, "aA" * 10_000]):
        assert (await harness.say(f"m{number}", text)).types[-1] == "RUN_FINISHED"


# What clients are shown


async def test_closing_shows_the_end_of_a_workflow_whose_agent_has_left_the_deployment() -> None:
    harness = HandoffHarness(transfer())
    turn = await harness.say()
    del harness.shipped_agents.definitions["maker"]
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, turn.events[-1].seq or 0)
    changes = [change["path"] for event in replay.events for change in event.body.get("delta", ())]
    assert "/workflow" in changes
