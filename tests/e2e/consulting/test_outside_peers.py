"""Real servers take part in a turn: tools over MCP, agents over A2A; and what becomes of it when one dies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.consulting.conftest import Peers
from tests.e2e.consulting.stored_consultations import of_type, records, results_by_tool
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

FALLBACK = "I'm working with limited resources right now, but here's what I know...\n\n"


async def test_an_mcp_server_and_a_remote_agent_take_part_in_one_turn(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(
        calls_tools(("add", {"a": 2, "b": 3}), ("ask_echo", {"message": "artifact It will rain."})),
        answers("Five, and Echo says that it will rain."),
    )
    run = await socket.say("Add, and ask", thread_id=thread_id, agentId="conductor")

    assert run[-1]["outcome"] == {"type": "success"}
    assert text_of(run) == "Five, and Echo says that it will rain."
    [task] = await records(alice, thread_id, "tasks")
    assert (task["agentId"], task["status"], task["result"]) == ("echo", "completed", "Itwillrain.")
    visible = results_by_tool(run)
    assert json.loads(visible["ask_echo"]) == {"taskId": task["taskId"], "status": "completed"}
    assert "5" in visible["add"]
    assert set(model.requests[1].tool_results.values()) == {visible["add"], "Itwillrain."}
    [started] = of_type(run, "SUBAGENT_STARTED")
    assert started["subagentRunId"] == task["taskId"]
    assert len(of_type(run, "SUBAGENT_FINISHED")) == 1
    [source] = of_type(run, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"]
    assert (source["kind"], source["agentId"], source["title"]) == ("agent", "echo", "Echo")
    calls = {call["toolName"]: call for call in await records(alice, thread_id, "tool-calls")}
    assert (calls["add"]["input"], calls["add"]["succeeded"], calls["add"]["taskId"]) == ({"a": 2, "b": 3}, True, None)
    assert calls["ask_echo"]["taskId"] == task["taskId"]


async def test_the_same_over_http(alice: User, model: FaultModel) -> None:
    model.script(
        calls_tools(("files_search", {"query": "rain"}), ("ask_echo", {"message": "say Dry."})), answers("Dry.")
    )
    answered = await alice.ask("Search, and ask", agentId="conductor")
    assert answered["outcome"] == {"type": "success"}
    assert [message["content"] for message in answered["messages"]][-1] == "Dry."
    assert "files found rain" in set(model.requests[1].tool_results.values())


async def test_a_tool_server_that_dies_in_the_middle_of_a_call_does_not_fail_the_turn(
    socket: SocketClient, alice: User, model: FaultModel, peers: Peers
) -> None:
    thread_id = new_id()
    model.script(calls_tools(("die", {})), answers("That is all I know."))
    run = await socket.say("Call it", thread_id=thread_id, agentId="unlucky")

    assert peers.doomed_files.process.wait() == 1
    assert run[-1]["outcome"] == {"type": "success"}
    assert text_of(run) == f"{FALLBACK}That is all I know."
    assert results_by_tool(run)["die"].startswith("Error: ")
    [call] = await records(alice, thread_id, "tool-calls")
    assert (call["toolName"], call["succeeded"], call["output"]) == ("die", False, None)
    assert call["errorMessage"]


async def test_a_remote_agent_that_is_killed_while_it_works_does_not_fail_the_turn(
    socket: SocketClient, alice: User, model: FaultModel, peers: Peers
) -> None:
    thread_id = new_id()
    model.script(calls_tools(("ask_doomed_echo", {"message": "hang Half an"})), answers("That is all I know."))
    await socket.send("message", threadId=thread_id, messageId=new_id(), content="Ask it", agentId="unlucky")
    run = await socket.receive_until("SUBAGENT_STARTED")
    await peers.doomed_echo.says("working")
    peers.doomed_echo.kill()
    run += await socket.receive_until_end()

    run = [event for event in run if event.get("name") != "message_accepted"]
    check_run(run)
    assert run[-1]["outcome"] == {"type": "success"}
    assert text_of(run) == f"{FALLBACK}That is all I know."
    [error] = of_type(run, "SUBAGENT_ERROR")
    [task] = await records(alice, thread_id, "tasks")
    assert (error["subagentRunId"], error["code"], task["status"]) == (task["taskId"], "failed", "failed")
    assert task["error"]
    assert of_type(run, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"] == []
    [reported] = model.requests[1].tool_results.values()
    assert reported.startswith("Error: Doomed-Echo could not answer")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (("add", {"a": "two"}), "Error: the arguments do not fit"),
        (("subtract", {}), "Error: there is no tool 'subtract'"),
        (("ask_assistant", {"message": "Hello"}), "Error: there is no tool 'ask_assistant'"),
        (("ask_echo", {}), "Error: the arguments do not fit"),
        (("add", "{not json"), "Error: the arguments are not valid JSON."),
    ],
)
async def test_a_bad_call_goes_back_to_the_model(
    alice: User, model: FaultModel, call: tuple[str, Any], complaint: str
) -> None:
    model.script(calls_tools(call), answers("Never mind."))
    answered = await alice.ask("Try it", agentId="conductor")
    assert answered["messages"][-1]["content"] == "Never mind."
    [reported] = model.requests[1].tool_results.values()
    assert reported.startswith(complaint)
