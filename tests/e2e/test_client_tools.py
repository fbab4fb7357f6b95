"""Tools that run in the page: over WebSocket, and with the AG-UI project's own clients over HTTP."""

from __future__ import annotations

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.agui_checks import check_heard
from tests.e2e.agui_clients import AgUiClient, client, clients_folder, running_clients, select_shared_fields
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, calls_tools

__all__ = ["client", "clients_folder", "running_clients"]

PAINT = {
    "name": "paint",
    "description": "Paints the background.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
OPEN = {"name": "open", "description": "Opens a dialog.", "parameters": {"type": "object", "properties": {}}}
CONTEXT = [{"description": "The page", "value": "Cart with 3 items"}]
RED: tuple[str, Json] = ("paint", {"colour": "red"})


async def test_the_clients_run_the_tool_and_go_on(client: AgUiClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(calls_tools(RED, text="Let me see."), answers("It is red."))
    offer = {"tools": [PAINT, OPEN], "context": CONTEXT}
    received = await client.run(alice, thread_id, "Make it red", **offer)
    check_heard(received)
    assert received.interrupts == []
    received = await client.run(alice, thread_id, results={"paint": "Painted."}, **offer)
    check_heard(received)
    assert received.last == "It is red."
    [result] = [message for message in received.messages if message["role"] == "tool"]
    assert result["content"] == "Painted."
    request = model.requests[-1].body
    assert [tool["function"]["name"] for tool in request["tools"]][-2:] == ["open", "paint"]
    assert request["messages"][-1]["content"] == "Painted."
    assert "Cart with 3 items" in str(request["messages"])
    stored = await alice.read(f"/threads/{thread_id}/messages", roles="user,assistant,tool")
    assert [select_shared_fields(item)["role"] for item in stored["items"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_the_clients_bring_several_results_at_once(client: AgUiClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    # Of one tool only: what calls several is asked about by the light model, which would take the script.
    model.script(calls_tools(RED, ("paint", {"colour": "blue"})), calls_tools(RED), answers("Done."))
    offer = {"tools": [PAINT, OPEN]}
    await client.run(alice, thread_id, "Both", **offer)
    await client.run(alice, thread_id, results={"paint": "Painted."}, **offer)
    received = await client.run(alice, thread_id, results={"paint": "Again."}, **offer)
    check_heard(received)
    assert received.last == "Done."
    results = [message["content"] for message in model.requests[-1].body["messages"] if message["role"] == "tool"]
    assert results == ["Painted.", "Painted.", "Again."]


@pytest.fixture
async def waiting(socket: SocketClient, model: FaultModel) -> list[Json]:
    """A run over WebSocket that waits for the page."""
    model.script(calls_tools(RED), answers("It is red."))
    return await socket.say("Make it red", thread_id=new_id(), tools=[PAINT], context=CONTEXT)


async def test_another_tab_sees_the_call_after_a_reload_and_answers_it(waiting: list[Json], alice: User) -> None:
    thread_id = waiting[0]["threadId"]
    [interrupt] = waiting[-1]["outcome"]["interrupts"]
    async with alice.connect() as elsewhere:
        await elsewhere.send("resume", threadId=thread_id, after=0)
        snapshot = await elsewhere.receive()
        assert snapshot["metadata"]["resume"]["interrupts"] == [interrupt]
        await elsewhere.receive_until_end()
        assert (await alice.read(f"/threads/{thread_id}"))["interrupts"] == [interrupt]
        answer = {"threadId": thread_id, "interruptId": interrupt["toolCallId"], "status": "resolved"}
        await elsewhere.send("answer", **answer, payload={"painted": True})
        run = await elsewhere.receive_until_end()
        check_run(run)
        assert text_of(run) == "It is red."
        assert [item["content"] for item in run if item["type"] == "TOOL_CALL_RESULT"] == ['{"painted": true}']
        await elsewhere.send("answer", **answer, payload="Something else")
        assert (await elsewhere.receive_until_end())[0]["runId"] == run[0]["runId"]
    records = (await alice.read(f"/threads/{thread_id}/audit"))["items"]
    assert [record["outcome"] for record in records if record["action"] == "tool.client"] == ["succeeded"]


async def test_a_refused_offer_stores_nothing(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    tools = [PAINT | {"name": "transfer_to_admin"}]
    await socket.send("message", threadId=thread_id, messageId=new_id(), content="Hi", tools=tools)
    refused = await socket.receive_refusal()
    assert (refused["code"], refused["metadata"]["action"]) == ("invalid_request", "message")
    assert (await alice.get(f"/threads/{thread_id}")).status_code == 404
