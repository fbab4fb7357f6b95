"""Exits that nothing stops, and continues that are tried again once what stood in their way is gone (W2)."""

from __future__ import annotations

import pytest

from baton.domain.errors import NotInHandoff
from baton.domain.identity import Scope, ThreadRef
from tests.e2e.ag_ui_rules import check_run
from tests.unit.conversation.floor_checks import active, changed, check_handoffs, messages
from tests.unit.conversation.handing_over import MAKER, HandoffStage, texts
from tests.unit.conversation.socketed import Socketed

MODES = ["summary", "recent", "full", "forked"]
EXITED = [
    ("Maker", "No problem! Returning you to the main assistant."),
    ("Assistant", "Let me know if you'd like to continue making it later."),
]
PERMITTED = Scope("acme", "ada", frozenset({"things:make"}))


async def with_maker(mode: str) -> HandoffStage:
    """Ada's conversation is with the maker."""
    stage = HandoffStage(context_mode=mode)
    await stage.say("m1", "make a thing")
    return stage


async def left() -> tuple[HandoffStage, str]:
    """Ada has left a workflow whose agent needs a permission, which she has lost; the workflow's id."""
    stage = HandoffStage(maker=changed(MAKER, required_permissions=["things:make"]))
    await stage.say("m1", "make a thing", scope=PERMITTED)
    await stage.say("m2", "cancel", scope=PERMITTED)
    [workflow] = (await stage.state())["resumable"]
    return stage, workflow["id"]


async def is_left(stage: HandoffStage) -> None:
    """The main agent has the floor, its words are kept, and what was made can be gone on with."""
    state = await stage.state()
    assert (state["activeAgent"]["id"], state["workflow"], len(state["resumable"])) == ("assistant", None, 1)
    assert [message.text for message in await messages(stage)][-2:] == [text for _, text in EXITED]
    assert [kept["outcome"] for kept in await stage.handoffs_kept()] == ["exited"]
    await check_handoffs(stage)


# Exits


@pytest.mark.parametrize("mode", MODES)
async def test_an_exit_that_was_cancelled_before_it_began_leaves_the_specialist(mode: str) -> None:
    stage = await with_maker(mode)
    request = await stage.controls.leaving(stage.ada, stage.thread_id, request_id="r1")
    await stage.controls.cancel(stage.ada, stage.thread_id, request.run_id)
    said = await stage.act(request)

    assert (texts(said), said.last["outcome"]) == (EXITED, {"type": "success"})
    check_run([event.body for event in said.events])
    await is_left(stage)
    with pytest.raises(NotInHandoff):
        await stage.controls.leaving(stage.ada, stage.thread_id, request_id="r2")


@pytest.mark.parametrize("mode", MODES)
async def test_an_exit_that_was_given_up_leaves_the_specialist(mode: str) -> None:
    stage = await with_maker(mode)
    socket = Socketed(stage)
    await socket.send("exit")
    await socket.give_up()

    run = socket.received()
    check_run(run)
    assert run[-1]["outcome"] == {"type": "success"}
    await is_left(stage)


async def test_a_message_that_was_given_up_still_ends_as_interrupted_with_the_specialist() -> None:
    stage = await with_maker("summary")
    asked = len(stage.model.asked)
    socket = Socketed(stage)
    await socket.send("message", messageId="m2", content="Box")
    await socket.give_up()
    assert [event["code"] for event in socket.received() if event["type"] == "RUN_ERROR"] == ["interrupted"]
    assert (await active(stage), len(stage.model.asked)) == ("maker", asked)


# Continues


async def test_a_continue_that_was_refused_for_a_missing_permission_works_once_it_is_granted() -> None:
    stage, workflow_id = await left()
    here = ThreadRef(stage.thread_id, may_create=False)
    refused = await stage.controls.continuing(stage.ada, here, workflow_id)
    told = texts(await stage.act(refused))
    assert told == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    granted = await stage.controls.continuing(PERMITTED, here, workflow_id)
    said = await stage.act(granted, PERMITTED)

    assert granted.message_id != refused.message_id
    assert texts(said) == [("Maker", "What shall it be called?")]
    check_run([event.body for event in said.events])
    assert (await stage.state())["workflow"]["id"] == workflow_id
    await check_handoffs(stage)


async def test_a_continue_that_was_refused_in_a_new_conversation_works_there_once_the_permission_is_granted() -> None:
    stage, workflow_id = await left()
    stage.thread_id = stage.clock.new_id()
    new = ThreadRef(stage.thread_id, may_create=True)
    for scope in (stage.ada, PERMITTED):
        await stage.act(await stage.controls.continuing(scope, new, workflow_id), scope)
    assert await active(stage) == "maker"


async def test_a_continue_that_is_repeated_before_it_is_carried_out_is_one() -> None:
    stage, workflow_id = await left()
    here = ThreadRef(stage.thread_id, may_create=False)
    first, second = [await stage.controls.continuing(PERMITTED, here, workflow_id) for _ in range(2)]
    assert (first.message_id, first.run_id) == (second.message_id, second.run_id)


@pytest.mark.parametrize("way", ["cancelled", "given up"])
async def test_a_continue_that_came_to_nothing_can_be_tried_again(way: str) -> None:
    stage, workflow_id = await left()
    stage.ada = PERMITTED
    here = ThreadRef(stage.thread_id, may_create=False)
    socket = Socketed(stage)
    await socket.send("continue", workflowId=workflow_id)
    if way == "cancelled":
        request = await stage.controls.continuing(stage.ada, here, workflow_id)
        await stage.controls.cancel(stage.ada, stage.thread_id, request.run_id)
        await socket.work()
    else:
        await socket.give_up()
    assert await active(stage) == "assistant"
    await socket.send("continue", workflowId=workflow_id)
    await socket.work()
    events = socket.received()
    check_run(events[[event["type"] for event in events].index("RUN_STARTED", 1) :])
    assert (await stage.state())["workflow"]["id"] == workflow_id
