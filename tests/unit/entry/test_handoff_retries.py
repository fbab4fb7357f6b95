"""Exits that nothing stops, and continues that are tried again once what stood in their way is gone."""

from __future__ import annotations

import pytest

from baton.domain.errors import ContentFiltered, NotInHandoff
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.thread import EndReason
from tests.e2e.ag_ui_rules import check_run
from tests.harness.handoffs import MAKER, HandoffHarness, texts
from tests.harness.sockets import Socketed
from tests.harness.state_checks import active, check_handoffs, messages, with_fields

MODES = ["summary", "recent", "full", "forked"]
EXITED = [
    ("Maker", "No problem! Returning you to the main assistant."),
    ("Assistant", "Let me know if you'd like to continue making it later."),
]
PERMITTED = Scope("acme", "ada", frozenset({"things:make"}))


async def with_maker(mode: str) -> HandoffHarness:
    """Ada's conversation is with the maker."""
    harness = HandoffHarness(context_mode=mode)
    await harness.say("m1", "make a thing")
    return harness


async def leave_workflow() -> tuple[HandoffHarness, str]:
    """Ada has left a workflow whose agent needs a permission, which she has lost; the workflow's id."""
    harness = HandoffHarness(maker=with_fields(MAKER, required_permissions=["things:make"]))
    await harness.say("m1", "make a thing", scope=PERMITTED)
    await harness.say("m2", "cancel", scope=PERMITTED)
    [workflow] = (await harness.state())["resumable"]
    return harness, workflow["id"]


async def is_left(harness: HandoffHarness) -> None:
    """The main agent is active, its words are kept, and what was made can be gone on with."""
    state = await harness.state()
    assert (state["activeAgent"]["id"], state["workflow"], len(state["resumable"])) == ("assistant", None, 1)
    assert [message.text for message in await messages(harness)][-2:] == [text for _, text in EXITED]
    assert [handoff["outcome"] for handoff in await harness.list_handoffs()] == ["exited"]
    await check_handoffs(harness)


# Exits


@pytest.mark.parametrize("mode", MODES)
async def test_an_exit_that_was_cancelled_before_it_began_leaves_the_specialist(mode: str) -> None:
    harness = await with_maker(mode)
    request = await harness.controls.request_exit(harness.ada, harness.thread_id, request_id="r1")
    await harness.controls.cancel(harness.ada, harness.thread_id, request.run_id)
    turn = await harness.act(request)

    assert (texts(turn), turn.last["outcome"]) == (EXITED, {"type": "success"})
    check_run([event.body for event in turn.events])
    await is_left(harness)
    with pytest.raises(NotInHandoff):
        await harness.controls.request_exit(harness.ada, harness.thread_id, request_id="r2")


@pytest.mark.parametrize("mode", MODES)
async def test_an_exit_that_was_given_up_leaves_the_specialist(mode: str) -> None:
    harness = await with_maker(mode)
    socket = Socketed(harness)
    await socket.send("exit")
    await socket.give_up()

    run = socket.take_events()
    check_run(run)
    assert run[-1]["outcome"] == {"type": "success"}
    await is_left(harness)


async def test_a_message_that_was_given_up_still_ends_as_interrupted_with_the_specialist() -> None:
    harness = await with_maker("summary")
    requests_before = len(harness.model.requests)
    socket = Socketed(harness)
    await socket.send("message", messageId="m2", content="Box")
    await socket.give_up()
    assert [event["code"] for event in socket.take_events() if event["type"] == "RUN_ERROR"] == ["interrupted"]
    assert (await active(harness), len(harness.model.requests)) == ("maker", requests_before)


async def test_a_message_that_was_given_up_shows_that_the_closed_conversation_goes_on() -> None:
    harness = await with_maker("summary")
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5)
    socket = Socketed(harness)
    await socket.send("message", messageId="m2", content="Box")
    await socket.give_up()
    [visible] = [event["snapshot"] for event in socket.take_events() if event["type"] == "STATE_SNAPSHOT"]
    assert visible == await harness.state()
    assert visible["status"] == "active"


# Continues


async def test_a_continue_that_was_refused_for_a_missing_permission_works_once_it_is_granted() -> None:
    harness, workflow_id = await leave_workflow()
    here = ThreadRef(harness.thread_id, may_create=False)
    refused = await harness.controls.request_continue(harness.ada, here, workflow_id)
    reported = texts(await harness.act(refused))
    assert reported == [("Assistant", "You don't have permission to use Maker. Can I help with something else?")]
    granted = await harness.controls.request_continue(PERMITTED, here, workflow_id)
    turn = await harness.act(granted, PERMITTED)

    assert granted.message_id != refused.message_id
    assert texts(turn) == [("Maker", "What shall it be called?")]
    check_run([event.body for event in turn.events])
    assert (await harness.state())["workflow"]["id"] == workflow_id
    await check_handoffs(harness)


async def test_a_continue_that_was_refused_in_a_new_conversation_works_there_once_the_permission_is_granted() -> None:
    harness, workflow_id = await leave_workflow()
    harness.thread_id = harness.clock.new_id()
    new = ThreadRef(harness.thread_id, may_create=True)
    for scope in (harness.ada, PERMITTED):
        await harness.act(await harness.controls.request_continue(scope, new, workflow_id), scope)
    assert await active(harness) == "maker"


async def test_a_continue_that_is_repeated_before_it_is_carried_out_is_one() -> None:
    harness, workflow_id = await leave_workflow()
    here = ThreadRef(harness.thread_id, may_create=False)
    first, second = [await harness.controls.request_continue(PERMITTED, here, workflow_id) for _ in range(2)]
    assert (first.message_id, first.run_id) == (second.message_id, second.run_id)


@pytest.mark.parametrize("way", ["cancelled", "given up", "its model failed"])
async def test_a_continue_that_came_to_nothing_can_be_tried_again(way: str) -> None:
    harness, workflow_id = await leave_workflow()
    harness.ada = PERMITTED
    here = ThreadRef(harness.thread_id, may_create=False)
    socket = Socketed(harness)
    await socket.send("continue", workflowId=workflow_id)
    if way == "cancelled":
        request = await harness.controls.request_continue(harness.ada, here, workflow_id)
        await harness.controls.cancel(harness.ada, harness.thread_id, request.run_id)
        await socket.run_queue()
    elif way == "its model failed":
        harness.model.script(ContentFiltered())
        await socket.run_queue()
    else:
        await socket.give_up()
    assert await active(harness) == "assistant"
    await socket.send("continue", workflowId=workflow_id)
    await socket.run_queue()
    events = socket.take_events()
    check_run(events[[event["type"] for event in events].index("RUN_STARTED", 1) :])
    assert (await harness.state())["workflow"]["id"] == workflow_id
