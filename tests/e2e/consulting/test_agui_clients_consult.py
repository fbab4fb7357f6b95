"""The AG-UI project's own clients, of both lines, in runs with tools, sub-agents and approvals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.agui_checks import check_heard
from tests.e2e.agui_clients import AgUiClient, Heard, client, clients_folder, running_clients, select_shared_fields
from tests.e2e.sockets import new_id
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

__all__ = ["client", "clients_folder", "running_clients"]

CONDUCTOR = {"agentId": "conductor"}
CAREFUL = {"agentId": "careful"}
REFUSED = "The user refused this call. Do not try it again unless they ask for it."


def events_of(received: Heard, kind: str) -> list[Json]:
    """Events about sub-agents: of that type, or CUSTOM ones under the name in lower case."""
    return received.of_type(kind) + [
        event["value"] for event in received.of_type("CUSTOM") if event["name"] == kind.lower()
    ]


async def test_the_client_follows_tools_and_sub_agents_also_one_that_fails(
    client: AgUiClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(
        calls_tools(
            ("add", {"a": 2, "b": 3}),
            ("ask_echo", {"message": "artifact It will rain."}),
            ("ask_echo", {"message": "fail Not today."}),
        ),
        answers("Five, and it will rain."),
    )
    received = await client.run(alice, thread_id, "Add, and ask", forwardedProps=CONDUCTOR)
    check_heard(received)
    assert received.last.endswith("Five, and it will rain.")
    assert len(received.of_type("TOOL_CALL_RESULT")) == 3

    tasks = {item["taskId"]: item["status"] for item in (await alice.read(f"/threads/{thread_id}/tasks"))["items"]}
    started, finished, failed = (events_of(received, f"SUBAGENT_{what}") for what in ("STARTED", "FINISHED", "ERROR"))
    assert sorted(tasks.values()) == ["completed", "failed"]
    assert {entry["subagentRunId"] for entry in started} == tasks.keys()
    assert [entry["name"] for entry in started] == ["Echo", "Echo"]
    calls = {event["toolCallId"] for event in received.of_type("TOOL_CALL_START")}
    assert {entry["parentToolCallId"] for entry in started} <= calls
    assert [tasks[entry["subagentRunId"]] for entry in finished] == ["completed"]
    assert [(tasks[entry["subagentRunId"]], entry["code"]) for entry in failed] == [("failed", "failed")]
    assert received.of_type("SUBAGENT_STARTED") == ([] if client.is_older else started)

    [activity] = [message for message in received.messages if message["role"] == "activity"]
    assert activity["activityType"] == "research"
    assert sorted(agent["status"] for agent in activity["content"]["agents"]) == ["completed", "failed"]

    again = await client.run(alice, thread_id, "Thank you")
    check_heard(again)


async def ask_for_approval(client: AgUiClient, user: User, model: FaultModel, thread_id: str) -> Heard:
    """A run that waits for an approval."""
    model.script(calls_tools(("next_number", {}), text="Let me count."), answers("Counted."))
    received = await client.run(user, thread_id, "Count", forwardedProps=CAREFUL)
    check_heard(received)
    [interrupt] = received.interrupts
    assert interrupt["message"] == "May I use next_number?"
    # The reason by which assistant-ui finds the call that it asks about; 1.x gets Baton's own.
    assert interrupt["reason"] == ("tool_call" if client.is_older else "tool_approval")
    assert interrupt["toolCallId"] in {event["toolCallId"] for event in received.of_type("TOOL_CALL_START")}
    return received


async def test_the_client_is_asked_and_its_answer_goes_on(client: AgUiClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    await ask_for_approval(client, alice, model, thread_id)
    resumed = await client.run(alice, thread_id, answers={"status": "resolved", "payload": {"approved": True}})
    check_heard(resumed)
    assert resumed.interrupts == []
    assert "TOOL_CALL_RESULT" in resumed.types
    messages = [message for message in resumed.messages if message["role"] == "assistant" and message.get("content")]
    stored = [message for message in await alice.messages(thread_id) if message["role"] == "assistant"]
    assert [select_shared_fields(message) for message in messages] == [select_shared_fields(item) for item in stored]
    [call] = (await alice.read(f"/threads/{thread_id}/tool-calls"))["items"]
    assert call["succeeded"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"status": "cancelled"}, ""),
        ({"status": "resolved", "payload": {"approved": False, "reason": "Not now."}}, " They said: Not now."),
        ({"status": "resolved", "payload": {"approved": False, "comment": "Not now."}}, " They said: Not now."),
    ],
    ids=["cancelled", "as assistant-ui denies", "as the schema says"],
)
async def test_the_model_learns_the_comment_of_a_refusal(
    client: AgUiClient, alice: User, model: FaultModel, answer: Any, text: str
) -> None:
    thread_id = new_id()
    await ask_for_approval(client, alice, model, thread_id)
    check_heard(await client.run(alice, thread_id, answers=answer))
    assert list(model.requests[1].tool_results.values()) == [REFUSED + text]


async def test_a_message_in_place_of_an_answer_is_not_lost(client: AgUiClient, alice: User, model: FaultModel) -> None:
    """The client lets nobody go on without cancelling what is open, in the same request."""
    thread_id = new_id()
    await ask_for_approval(client, alice, model, thread_id)
    model.reset()
    model.script(answers("Then we talk."))
    sent_message = {"messageId": "m-2", "answers": {"status": "cancelled"}}
    received = await client.run(alice, thread_id, "Let us talk instead", **sent_message)
    check_heard(received)
    assert received.interrupts == []
    assert received.last == "Then we talk."
    stored = [message["content"] for message in await alice.messages(thread_id, roles="user")]
    assert stored == ["Count", "Let us talk instead"]
    assert (await alice.read(f"/threads/{thread_id}/tool-calls"))["items"] == []
    received = await client.run(alice, thread_id, "And on")
    check_heard(received)


async def test_a_client_that_is_new_can_read_a_thread_with_all_of_that(
    client: AgUiClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(calls_tools(("ask_echo", {"message": "fail No."}), ("add", {"a": 1, "b": 1})), answers("Two."))
    await client.run(alice, thread_id, "Ask", forwardedProps=CONDUCTOR)
    version = {} if client.is_older else {"protocolVersion": "1.0"}
    received = await client.read(alice, thread_id, **version)
    check_heard(received)
    assert len(events_of(received, "SUBAGENT_ERROR")) == 1
    assert received.state == (await alice.read(f"/threads/{thread_id}"))["state"]
