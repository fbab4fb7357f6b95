"""The AG-UI project's own clients, of both lines, against POST /v1/runs: every kind of run there is without peers."""

from __future__ import annotations

import asyncio
import base64

import pytest

from tests.e2e.agui_checks import check_agrees, check_heard
from tests.e2e.agui_clients import AgUiClient, client, clients_folder, older_client, running_clients
from tests.e2e.gates import Gate
from tests.e2e.sockets import new_id
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, breaks_after

pytestmark = pytest.mark.nightly

__all__ = ["client", "clients_folder", "older_client", "running_clients"]

FOREMAN = {"agentId": "foreman"}


async def test_the_client_has_the_conversation_that_the_store_has(
    client: AgUiClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(answers("Hello Ada, nice to meet you."), answers("You are Ada."))
    for text in ("I am Ada.", "Who am I?"):
        received = await client.run(alice, thread_id, text)
        check_heard(received)
    assert [message["content"] for message in received.messages] == [
        "I am Ada.",
        "Hello Ada, nice to meet you.",
        "Who am I?",
        "You are Ada.",
    ]
    await check_agrees(received, alice, thread_id)
    assert [content for _, content in model.requests[1].dialogue] == [
        "I am Ada.",
        "Hello Ada, nice to meet you.",
        "Who am I?",
    ]


async def test_the_client_learns_of_a_failed_run_and_goes_on(
    client: AgUiClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(breaks_after("It was ", "a dark "), answers("And stormy night."))
    failed = await client.run(alice, thread_id, "Tell me a story")
    assert failed.types[-1] == "RUN_ERROR"
    assert failed.errors == ["model_unavailable"]
    finished = await client.run(alice, thread_id, "Go on")
    check_heard(finished)
    await check_agrees(finished, alice, thread_id)


async def test_the_client_sees_its_run_cancelled(client: AgUiClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    gate = Gate()
    model.script(gate.behaviour)
    running = asyncio.ensure_future(client.run(alice, thread_id, "Tell me a story"))
    await speaks(alice, thread_id)
    (await alice.post(f"/threads/{thread_id}/cancel", {})).raise_for_status()
    received = await running
    gate.open()
    check_heard(received)
    [finished] = received.of_type("RUN_FINISHED")
    if client.is_older:
        assert received.result == {"outcome": "cancelled"}
    else:
        assert finished["outcome"] == {"type": "cancelled"}
    await check_agrees(received, alice, thread_id)
    again = await client.run(alice, thread_id, "Go on")
    check_heard(again)
    assert again.result is None


async def speaks(user: User, thread_id: str) -> None:
    """Return when the answer in progress has begun."""
    async with user.connect() as socket:
        while True:
            await socket.send("resume", threadId=thread_id, after=0)
            event = await socket.receive()
            if event["type"] != "RUN_ERROR":
                break
        await socket.receive_until("TEXT_MESSAGE_CONTENT")


async def test_a_repeated_message_gives_the_client_the_same_answer(
    client: AgUiClient, running_clients: dict[str, AgUiClient], alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    first = await client.run(alice, thread_id, "Hello", messageId="m-1")
    repeated = await client.run(alice, thread_id)
    check_heard(repeated)
    assert repeated.types == first.types
    assert repeated.messages[:1] == first.messages[:1]
    assert len(model.requests) == 1


async def test_the_client_follows_a_handoff_through_a_workflow_and_back(client: AgUiClient, alice: User) -> None:
    thread_id = new_id()
    handed_over = await client.run(alice, thread_id, "Please build me a table", forwardedProps=FOREMAN)
    check_heard(handed_over)
    assert [event["stepName"] for event in handed_over.of_type("STEP_STARTED")] == ["WOOD"]
    [notice] = [message for message in handed_over.messages if message["role"] == "activity"]
    assert (notice["activityType"], notice["content"]["to"]) == ("handoff", "joiner")
    await check_agrees(handed_over, alice, thread_id)

    returned = await client.run(alice, thread_id, "cancel")
    check_heard(returned)
    assert [event["activityType"] for event in returned.of_type("ACTIVITY_SNAPSHOT")] == ["return"]
    assert returned.state["activeAgent"]["id"] == "foreman"
    await check_agrees(returned, alice, thread_id)


async def test_a_client_that_is_new_can_read_the_whole_thread(client: AgUiClient, alice: User) -> None:
    """Runs that no client of AG-UI began, too: an exit, and a workflow taken up again."""
    started = await alice.ask("Please build me a table", agentId="foreman")
    thread_id = started["sessionId"]
    (await alice.post(f"/threads/{thread_id}/exit", None)).raise_for_status()
    [workflow] = (await alice.read("/workflows"))["items"]
    (await alice.post(f"/threads/{thread_id}/continue", {"workflowId": workflow["id"]})).raise_for_status()
    version = {} if client.is_older else {"protocolVersion": "1.0"}
    received = await client.read(alice, thread_id, **version)
    check_heard(received)
    assert received.types.count("RUN_STARTED") == 3
    await check_agrees(received, alice, thread_id)


async def test_a_fork_is_a_conversation_like_any_other(client: AgUiClient, alice: User) -> None:
    parent_id = (await alice.ask("Hello"))["sessionId"]
    child = (await alice.post(f"/threads/{parent_id}/fork", {"agentId": "impatient"})).json()
    received = await client.run(alice, child["id"], "And here?")
    check_heard(received)
    assert received.last == "And here?"


async def test_the_client_can_send_a_file_that_was_uploaded(client: AgUiClient, alice: User) -> None:
    thread_id = new_id()
    part = await upload_file(alice, thread_id)
    received = await client.run(alice, thread_id, [{"type": "text", "text": "What is this?"}, part], messageId="m-1")
    check_heard(received)
    [started] = received.of_type("RUN_STARTED")
    [visible] = [item for item in started["input"]["messages"][0]["content"] if item["type"] != "text"]
    kind = "url" if client.is_older else "file"
    assert visible["source"]["type"] == kind

    # A client that has the message from Baton sends it as Baton has shown it.
    [message] = started["input"]["messages"]
    again = await client.run(alice, thread_id, message["content"], messageId="m-1")
    check_heard(again)
    assert again.types == received.types


async def upload_file(user: User, thread_id: str) -> Json:
    """The part that refers to a file of the thread."""
    file = {"name": "note.txt", "contentType": "text/plain", "size": 5}
    prepared = (await user.post(f"/threads/{thread_id}/files", file)).raise_for_status().json()
    part: Json = prepared["part"]
    return part


async def test_what_older_clients_attach_is_taken(older_client: AgUiClient, alice: User, model: FaultModel) -> None:
    data = base64.b64encode(b"not really a picture").decode()
    picture = {"type": "binary", "mimeType": "image/png", "data": data, "filename": "cat.png"}
    link = {"type": "binary", "mimeType": "application/pdf", "url": "https://example.com/a.pdf"}
    received = await older_client.run(alice, new_id(), [{"type": "text", "text": "Look"}, picture, link])
    check_heard(received)
    [message] = await alice.messages(received.events[0]["threadId"], roles="user")
    assert [part["type"] for part in message["content"]] == ["text", "image", "document"]
    assert message["content"][1]["source"] == {"type": "data", "value": data, "mimeType": "image/png"}
