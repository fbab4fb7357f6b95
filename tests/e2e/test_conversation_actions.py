"""Leaving a specialist and taking its workflow up again, over WebSocket and HTTP."""

from __future__ import annotations

import uuid

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import Json, SocketClient, new_id
from tests.e2e.users import User

BYE = "No problem! Returning you to the main assistant."
SAVED = "Let me know if you'd like to go on with the table later."


async def with_joiner(user: User) -> str:
    """A conversation of the user's that is with the joiner; its id."""
    answer = await user.ask("Please build me a table", agentId="foreman")
    assert answer["state"]["activeAgent"]["id"] == "joiner"
    thread_id: str = answer["sessionId"]
    return thread_id


async def find_unfinished(user: User) -> Json:
    """The user's only unfinished workflow."""
    [workflow] = (await user.read("/workflows"))["items"]
    assert isinstance(workflow, dict)
    return workflow


async def test_a_specialist_is_left_and_its_workflow_continued_over_the_socket(
    alice: User, socket: SocketClient
) -> None:
    thread_id = new_id()
    handed_over = await socket.say("Please build me a table", thread_id=thread_id, agentId="foreman")
    assert [event["stepName"] for event in handed_over if event["type"] == "STEP_STARTED"] == ["WOOD"]

    await socket.send("exit", threadId=thread_id)
    remaining = await socket.receive_until_end()
    check_run(remaining)
    assert text_of(remaining) == BYE + SAVED
    assert remaining[0]["input"]["messages"] == []
    state = (await alice.read(f"/threads/{thread_id}"))["state"]
    assert (state["activeAgent"]["id"], state["workflow"]) == ("foreman", None)

    await socket.send("continue", threadId=thread_id, workflowId=(await find_unfinished(alice))["id"])
    again = await socket.receive_until_end()
    check_run(again)
    assert [event["stepName"] for event in again if event["type"] == "STEP_STARTED"] == ["WOOD"]
    assert (await alice.read(f"/threads/{thread_id}"))["state"]["activeAgent"]["id"] == "joiner"
    await socket.check_no_more_events()


async def test_a_resume_shows_who_is_active_and_what_can_be_continued(alice: User) -> None:
    thread_id = await with_joiner(alice)
    assert await resume_and_read(alice, thread_id) == ("joiner", "Choosing Wood", [])
    (await alice.post(f"/threads/{thread_id}/exit", None)).raise_for_status()
    assert await resume_and_read(alice, thread_id) == ("foreman", None, ["Choosing Wood"])


async def resume_and_read(user: User, thread_id: str) -> tuple[str, str | None, list[str]]:
    """The active agent, the state of its workflow, and the states in which others wait."""
    async with user.connect() as socket:
        await socket.send("resume", threadId=thread_id, after=0)
        state: Json = (await socket.receive())["snapshot"]
    assert state == (await user.read(f"/threads/{thread_id}"))["state"]
    workflow = state["workflow"]
    return state["activeAgent"]["id"], workflow and workflow["label"], [item["label"] for item in state["resumable"]]


async def test_a_specialist_is_left_and_its_workflow_continued_over_http(alice: User) -> None:
    thread_id = await with_joiner(alice)
    exited = (await alice.post(f"/threads/{thread_id}/exit", None)).raise_for_status().json()
    assert [message["content"] for message in exited["messages"]] == [BYE, SAVED]
    assert exited["sessionId"] == thread_id
    check_problem(await alice.post(f"/threads/{thread_id}/exit", None), 409, "not_in_handoff")

    workflow = await find_unfinished(alice)
    assert (workflow["threadId"], workflow["name"], workflow["step"], workflow["steps"]) == (
        thread_id,
        "your new table",
        1,
        1,
    )
    body = {"workflowId": workflow["id"]}
    went_on = (await alice.post(f"/threads/{thread_id}/continue", body)).raise_for_status().json()
    assert went_on["state"]["workflow"]["id"] == workflow["id"]
    assert went_on["outcome"] == {"type": "success"}
    check_problem(await alice.post(f"/threads/{thread_id}/continue", body), 409, "handoff_in_progress")

    handoffs = (await alice.read(f"/threads/{thread_id}/handoffs"))["items"]
    assert [(handoff["sourceAgentId"], handoff["targetAgentId"], handoff["outcome"]) for handoff in handoffs] == [
        ("foreman", "joiner", None),
        ("foreman", "joiner", "exited"),
    ]


@pytest.mark.parametrize("whose", ["another user's", "another tenant's", "a reader's"])
async def test_strangers_leave_nobody_and_continue_nothing(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str, whose: str
) -> None:
    thread_id = await with_joiner(alice)
    workflow = await find_unfinished(alice)
    elsewhere = tenant if whose != "another tenant's" else f"t-{uuid.uuid4().hex}"
    name = "alice" if whose == "another tenant's" else "eve"
    eve = new_user(name, *(["thread:read_all"] if whose == "a reader's" else []), tenant=elsewhere)
    before = cloud.list_data(tenant)
    body, unused = {"workflowId": workflow["id"]}, new_id()
    check_problem(await eve.post(f"/threads/{thread_id}/exit", None), 404, "thread_unavailable")
    # A foreign thread is like one that nobody uses.
    check_problem(await eve.post(f"/threads/{thread_id}/continue", body), 409, "workflow_unavailable")
    check_problem(await eve.post(f"/threads/{unused}/continue", body), 409, "workflow_unavailable")
    async with eve.connect() as socket:
        await socket.send("exit", threadId=thread_id)
        assert (await socket.receive_refusal())["code"] == "thread_unavailable"
        await socket.send("continue", threadId=thread_id, workflowId=workflow["id"])
        assert (await socket.receive_refusal())["code"] == "workflow_unavailable"
        await socket.send("continue", threadId=unused, workflowId=workflow["id"])
        refusal = await socket.receive_refusal()
        assert refusal["code"] == "workflow_unavailable"
        assert (refusal["metadata"]["action"], refusal["metadata"]["threadId"]) == ("continue", unused)
        await socket.check_no_more_events()
    assert (await eve.read("/workflows"))["items"] == []
    if whose == "a reader's":
        assert (await eve.read(f"/threads/{thread_id}/handoffs"))["items"]
    else:
        check_problem(await eve.get(f"/threads/{thread_id}/handoffs"), 404, "thread_unavailable")
        check_problem(await eve.get("/threads", parentThreadId=thread_id), 404, "thread_unavailable")
    assert cloud.list_data(tenant) == before
    if elsewhere != tenant:
        assert cloud.list_data(elsewhere) == []
    denied = {item["action"] for item in cloud.audits(elsewhere) if item["outcome"] == "denied"}
    assert {"thread.exit", "thread.continue"} <= denied
    assert await find_unfinished(alice) == workflow
