"""Leaving a specialist and taking a workflow up again, by actions over WebSocket."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import HandoffInProgress, NotInHandoff, ThreadUnavailable, WorkflowUnavailable
from baton.domain.handoffs.handoff import HandoffOutcome
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.thread_state import describe_thread_state
from baton.ports.threads.leases import LeaseRequest
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance, transfer
from tests.harness.sockets import Socketed

EXITED = [
    ("Maker", "No problem! Returning you to the main assistant."),
    ("Assistant", "Let me know if you'd like to continue making it later."),
]
STRANGERS = [
    pytest.param(Scope("acme", "eve"), id="another user"),
    pytest.param(Scope("rivals", "ada"), id="another tenant"),
    pytest.param(Scope("acme", "boss", frozenset({"thread:read_all"})), id="a reader"),
]


async def hand_over(*answers: Answer) -> Socketed:
    """Ada's conversation is with the maker, and her tab watches it."""
    harness = HandoffHarness(transfer(), *answers)
    await harness.say(subscriber=harness.subscriber("tab"))
    socket = Socketed(harness)
    socket.take_events()
    return socket


async def leave_workflow(name: str = "Box") -> tuple[Socketed, str]:
    """Ada has left a workflow in its second state; its id."""
    socket = await hand_over(Answer(("Name?",)), advance("BUILD", name=name), Answer(("Building.",)))
    await socket.harness.say("m2", name)
    await socket.send("exit")
    await socket.run_queue()
    socket.take_events()
    return socket, (await state(socket))["resumable"][0]["id"]


async def state(socket: Socketed) -> dict[str, Any]:
    thread = await socket.harness.store.get_thread(socket.harness.ada, socket.harness.thread_id)
    agents = await socket.harness.agents.in_session(socket.harness.ada, thread)
    visible: dict[str, Any] = describe_thread_state(agents.describe, thread).wire()
    return visible


def list_spoken(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The speakers with their texts."""
    names = {event["messageId"]: event["name"] for event in events if event["type"] == "TEXT_MESSAGE_START"}
    return [(names[event["messageId"]], event["delta"]) for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]


# Exit


async def test_an_exit_leaves_the_specialist_in_a_run_of_its_own_without_a_model() -> None:
    socket = await hand_over()
    requests_before = len(socket.harness.model.requests)
    await socket.send("exit")
    await socket.run_queue()

    run = socket.take_events()
    check_run(run)
    assert run[0]["type"] == "RUN_STARTED"
    assert run[1]["snapshot"]["activeAgent"]["id"] == "maker"
    assert list_spoken(run) == EXITED
    assert len(socket.harness.model.requests) == requests_before
    assert ((await state(socket))["activeAgent"]["isMain"], (await state(socket))["workflow"]) == (True, None)


async def test_an_exit_that_is_sent_twice_is_one() -> None:
    socket = await hand_over()
    await socket.send("exit")
    await socket.send("exit")
    await socket.run_queue()

    events = socket.take_events()
    assert [event["type"] for event in events].count("RUN_FINISHED") == 2, "the second is answered by the same run"
    assert len({event["metadata"]["runId"] for event in events}) == 1
    thread = await socket.harness.store.get_thread(socket.harness.ada, socket.harness.thread_id)
    page = await socket.harness.store.read_messages(socket.harness.ada, thread, limit=50, before=None)
    assert [message.text for message in page.messages if message.text in dict(EXITED).values()] == [
        text for _, text in EXITED
    ]


async def test_an_exit_after_the_exit_is_refused() -> None:
    socket = await hand_over()
    await socket.send("exit")
    await socket.run_queue()
    socket.take_events()
    refusal = await socket.expect_refusal("exit")
    assert refusal["code"] == "not_in_handoff"
    assert refusal["metadata"] == {
        "retryable": False,
        "requestId": "r-2",
        "action": "exit",
        "threadId": socket.harness.thread_id,
    }


async def test_an_exit_of_an_earlier_handoff_does_not_leave_a_later_one() -> None:
    socket = await hand_over()
    await socket.send("exit")
    await socket.run_queue()
    await socket.harness.say("m2", "make a thing")
    repeated_message = socket.harness.queue.sent[-1][1].model_copy(update={"request_id": "again"})
    await socket.harness.queue.send(socket.harness.ada, repeated_message)
    await socket.run_queue()
    assert (await state(socket))["activeAgent"]["id"] == "maker"


async def test_an_exit_stops_the_answer_that_the_specialist_is_giving() -> None:
    socket = await hand_over()
    harness = socket.harness
    harness.model.script(Answer(("Let me ", "think."), gate=asyncio.Event(), gate_at=1))
    answering = asyncio.ensure_future(harness.say("m2", "Well?"))
    await harness.wait_for_requests(3)
    await socket.send("exit")
    stopped = await answering
    await socket.run_queue()

    assert stopped.last["outcome"] == {"type": "cancelled"}
    assert stopped.text == "Let me "
    assert list_spoken(socket.take_events())[-2:] == EXITED
    cancels = [record for record in harness.audit.records if record.action == "run.cancel"]
    assert [(record.outcome, record.thread_id) for record in cancels] == [("requested", harness.thread_id)]


async def test_an_exit_does_not_stop_the_exit_that_is_being_carried_out() -> None:
    socket = await hand_over()
    harness = socket.harness
    request = await harness.controls.request_exit(harness.ada, harness.thread_id, request_id="r")
    lease = await harness.store.acquire(
        harness.ada, LeaseRequest(harness.thread_id, request.run_id, request.message_id)
    )
    await socket.send("exit")
    await harness.store.abandon(lease)
    await socket.run_queue()
    assert list_spoken(socket.take_events()) == EXITED


async def test_an_exit_while_the_main_agent_answers_waits_and_is_refused_if_nobody_was_handed_over_to() -> None:
    harness = HandoffHarness(Answer(("Hello ", "there."), gate=(gate := asyncio.Event()), gate_at=1))
    socket = Socketed(harness)
    answering = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    await socket.send("exit")
    gate.set()
    assert (await answering).last["outcome"] == {"type": "success"}, "the main agent is not stopped"
    await socket.run_queue()

    [refusal] = socket.take_events()
    assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "not_in_handoff")
    assert refusal["metadata"] == {
        "retryable": False,
        "requestId": "r-1",
        "action": "exit",
        "threadId": harness.thread_id,
    }
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.run, thread.next_ordinal) == (None, 2)


async def test_an_exit_while_the_main_agent_hands_over_leaves_the_specialist_it_hands_over_to() -> None:
    harness = HandoffHarness(transfer(), Answer(("What ", "now?"), gate=(gate := asyncio.Event()), gate_at=1))
    socket = Socketed(harness)
    answering = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests(2)
    await socket.send("exit")
    gate.set()
    await answering
    await socket.run_queue()
    assert list_spoken(socket.take_events()) == EXITED


async def test_a_conversation_with_its_main_agent_has_nobody_to_leave() -> None:
    harness = HandoffHarness()
    await harness.say()
    assert (await Socketed(harness).expect_refusal("exit"))["code"] == "not_in_handoff"
    with pytest.raises(NotInHandoff):
        await harness.controls.request_exit(harness.ada, harness.thread_id, request_id="r")


@pytest.mark.parametrize("action", ["resume", "exit", "cancel", "close", "answer"])
async def test_an_action_in_what_nobody_has_begun_is_refused_and_no_denial(action: str) -> None:
    socket = Socketed(HandoffHarness())
    fields = {"resume": {"after": 0}, "answer": {"interruptId": "i-1", "status": "cancelled"}}.get(action, {})
    assert (await socket.expect_refusal(action, **fields))["code"] == "thread_unavailable"
    assert [record.outcome for record in socket.harness.audit.records] == ["not_found"]


async def test_an_exit_begins_no_conversation() -> None:
    socket = Socketed(HandoffHarness())
    assert (await socket.expect_refusal("exit"))["code"] == "thread_unavailable"
    with pytest.raises(ThreadUnavailable):
        await socket.harness.store.get_thread(socket.harness.ada, socket.harness.thread_id)


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_strangers_leave_nobody(stranger: Scope) -> None:
    socket = await hand_over()
    refusal = await socket.expect_refusal("exit", scope=stranger, tab="theirs")
    assert refusal["code"] == "thread_unavailable"
    record = socket.harness.audit.records[-1]
    assert (record.scope, record.action, record.outcome) == (stranger, "thread.exit", "denied")
    assert (await state(socket))["activeAgent"]["id"] == "maker"
    assert socket.take_events() == []


# Continue


async def test_a_workflow_is_continued_where_it_was_left() -> None:
    socket, workflow_id = await leave_workflow()
    await socket.send("continue", workflowId=workflow_id)
    await socket.run_queue()

    run = socket.take_events()
    check_run(run)
    assert run[1]["snapshot"]["resumable"][0]["id"] == workflow_id
    [notice] = [event for event in run if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert notice["content"]["label"] == "Connecting you with Maker..."
    assert [event["stepName"] for event in run if event["type"] == "STEP_STARTED"] == ["BUILD"]
    assert list_spoken(run) == [("Maker", "What shall it be called?")]
    now = await state(socket)
    assert (now["workflow"]["id"], now["workflow"]["state"], now["resumable"]) == (workflow_id, "BUILD", [])


async def test_a_continue_that_is_sent_twice_is_one() -> None:
    socket, workflow_id = await leave_workflow()
    requests_before = len(socket.harness.model.requests)
    await socket.send("continue", workflowId=workflow_id)
    await socket.send("continue", workflowId=workflow_id)
    await socket.run_queue()
    events = socket.take_events()
    assert len({event["metadata"]["runId"] for event in events}) == 1
    assert len(socket.harness.model.requests) == requests_before + 1


async def test_a_workflow_that_is_left_again_can_be_continued_again() -> None:
    socket, workflow_id = await leave_workflow()
    for _ in range(2):
        socket.harness.clock.advance(60)
        await socket.send("continue", workflowId=workflow_id)
        await socket.run_queue()
        assert (await state(socket))["workflow"]["id"] == workflow_id
        await socket.send("exit")
        await socket.run_queue()
        assert (await state(socket))["workflow"] is None
    stored, _ = await socket.harness.handoffs.of_thread(
        socket.harness.ada, socket.harness.thread_id, limit=9, cursor=None
    )
    assert [handoff.outcome for handoff in stored] == [HandoffOutcome.EXITED] * 3


async def test_a_continue_during_a_handoff_is_refused() -> None:
    socket, workflow_id = await leave_workflow()
    await socket.harness.say("m9", "make a thing")
    socket.take_events()
    refusal = await socket.expect_refusal("continue", workflowId=workflow_id)
    assert refusal["code"] == "handoff_in_progress"
    assert refusal["metadata"]["action"] == "continue"
    thread = ThreadRef(socket.harness.thread_id, may_create=True)
    with pytest.raises(HandoffInProgress):
        await socket.harness.controls.request_continue(socket.harness.ada, thread, workflow_id)


async def test_a_new_conversation_can_begin_with_a_workflow() -> None:
    socket, workflow_id = await leave_workflow()
    socket.harness.thread_id = str(uuid.uuid4())
    await socket.send("continue", workflowId=workflow_id)
    await socket.run_queue()

    run = socket.take_events()
    check_run(run)
    assert run[0]["metadata"]["seq"] == 1
    assert list_spoken(run) == [("Maker", "What shall it be called?")]
    thread = await socket.harness.store.get_thread(socket.harness.ada, socket.harness.thread_id)
    assert (thread.agent_id, thread.active_agent_id) == ("assistant", "maker")
    assert (await state(socket))["workflow"]["state"] == "BUILD"
    [unfinished] = await socket.harness.workflows.list_unfinished(socket.harness.ada)
    assert unfinished.workflow.thread_id == socket.harness.thread_id


async def test_a_workflow_that_goes_on_elsewhere_is_let_go_there() -> None:
    socket = await hand_over()
    [unfinished] = await socket.harness.workflows.list_unfinished(socket.harness.ada)
    first, socket.harness.thread_id = socket.harness.thread_id, str(uuid.uuid4())
    await socket.send("continue", workflowId=unfinished.workflow.id)
    await socket.run_queue()
    assert (await state(socket))["workflow"]["id"] == unfinished.workflow.id
    socket.harness.thread_id = first
    await socket.harness.say("m2", "Are you there?")
    now = await state(socket)
    assert (now["activeAgent"]["id"], now["workflow"]) == ("assistant", None)


async def test_a_new_id_of_version_5_begins_nothing() -> None:
    socket, workflow_id = await leave_workflow()
    socket.harness.thread_id = str(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.com"))
    assert (await socket.expect_refusal("continue", workflowId=workflow_id))["code"] == "thread_unavailable"
    assert socket.harness.audit.records[-1].action == "thread.continue"


async def test_an_unknown_finished_or_expired_workflow_is_not_continued() -> None:
    socket, workflow_id = await leave_workflow()
    for unknown in (str(uuid.uuid4()), "nothing at all"):
        assert (await socket.expect_refusal("continue", workflowId=unknown))["code"] == "workflow_unavailable"
    socket.harness.clock.advance(timedelta(days=31).total_seconds())
    refusal = await socket.expect_refusal("continue", workflowId=workflow_id)
    assert (refusal["code"], refusal["metadata"]["threadId"]) == ("workflow_unavailable", socket.harness.thread_id)


async def test_a_workflow_that_expires_while_it_waits_in_the_queue_is_refused_there() -> None:
    socket, workflow_id = await leave_workflow()
    await socket.send("continue", workflowId=workflow_id)
    socket.harness.clock.advance(timedelta(days=31).total_seconds())
    await socket.run_queue()
    [refusal] = socket.take_events()
    assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "workflow_unavailable")
    assert refusal["metadata"]["action"] == "continue"
    assert (await state(socket))["activeAgent"]["isMain"]


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_users_workflow_is_like_none_and_stays_where_it_is(stranger: Scope) -> None:
    socket, workflow_id = await leave_workflow()
    before = await state(socket)
    refusal = await socket.expect_refusal(
        "continue", scope=stranger, tab="theirs", threadId=str(uuid.uuid4()), workflowId=workflow_id
    )
    assert refusal["code"] == "workflow_unavailable"
    theirs = await socket.expect_refusal("continue", scope=stranger, tab="theirs", workflowId=workflow_id)
    assert theirs["code"] == "workflow_unavailable"  # a foreign thread is like none
    record = socket.harness.audit.records[-1]
    assert (record.scope, record.action, record.outcome) == (stranger, "thread.continue", "denied")
    thread = ThreadRef(str(uuid.uuid4()), may_create=True)
    with pytest.raises(WorkflowUnavailable):
        await socket.harness.controls.request_continue(stranger, thread, workflow_id)
    assert await state(socket) == before
    assert socket.take_events() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"workflowId": None},
        {"workflowId": 7},
        {"workflowId": ""},
        {"workflowId": "x" * 129},
        {"workflowId": "a\nb"},
        {"workflowId": ["w"]},
        {"threadId": None, "workflowId": "w"},
        {"threadId": "", "workflowId": "w"},
        {"threadId": 7, "workflowId": "w"},
    ],
    ids=str,
)
async def test_malformed_fields_are_refused(fields: dict[str, Any]) -> None:
    socket = Socketed(HandoffHarness())
    assert (await socket.expect_refusal("continue", **fields))["code"] == "invalid_request"
    if "threadId" in fields:
        assert (await socket.expect_refusal("exit", threadId=fields["threadId"]))["code"] == "invalid_request"
