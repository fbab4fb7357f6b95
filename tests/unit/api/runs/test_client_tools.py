"""Client tools over ``/v1/runs``: requests of AG-UI's clients, and their events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.page import choose, list_offered, paint
from tests.harness.wiki import call_results, delete, wiki
from tests.unit.api.resuming import events_of
from tests.unit.api.served import Served

TOOLS = [
    {
        "name": "paint",
        "description": "Paints the background.",
        "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
    },
    {"name": "choose", "description": "Shows a dialog.", "parameters": {"type": "object", "properties": {}}},
]
CONTEXT = [{"description": "The page", "value": "Cart with 3 items"}]
ASKED = {"id": "m1", "role": "user", "content": "Make it red."}


@pytest.fixture
def served() -> Served:
    return Served(wiki())


def run_input(served: Served, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The request of an AG-UI client of the 1.x line."""
    body = {"threadId": served.harness.thread_id, "runId": "r-1", "messages": [ASKED, *messages], "tools": TOOLS}
    return body | {"context": CONTEXT, "state": {"a": 1}, "forwardedProps": {}, "protocolVersion": "1.0"} | fields


def make_calling_messages(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The assistant's message as a client makes it from a run, with its calls."""
    starts = [event for event in events if event["type"] == "TOOL_CALL_START"]
    calls = [
        {"id": start["toolCallId"], "type": "function", "function": {"name": start["toolCallName"], "arguments": "{}"}}
        for start in starts
    ]
    return [{"id": starts[0]["parentMessageId"], "role": "assistant", "toolCalls": calls}]


def tool(call_id: str, content: str = "It is red now.", **fields: Any) -> dict[str, Any]:
    """The message with the result of a call."""
    return {"id": f"result-{call_id}", "role": "tool", "toolCallId": call_id, "content": content} | fields


@pytest.mark.parametrize(
    ("schema", "limit"),
    [
        ({"properties": {"a": {"pattern": "(?i)" + "[\u0100-\U0001fffe]" * 600}}}, "at most 1,000 characters"),
        ({"allOf": [{}] * 1_900}, "more than 1,000 subschemas"),
        ({"properties": {"a": {"type": "text"}}}, "at properties/a/type: 'text' is not a type of JSON"),
    ],
)
async def test_a_schema_beyond_a_limit_is_refused_before_a_conversation_begins(
    served: Served, schema: dict[str, Any], limit: str
) -> None:
    tools = [{"name": "paint", "description": "", "parameters": {"type": "object", **schema}}]
    refused = await served.post("/runs", run_input(served, tools=tools))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert limit in refused.json()["detail"]
    assert (await served.get(f"/threads/{served.harness.thread_id}")).status_code == 404


async def test_arguments_that_take_long_to_check_are_left_to_the_page(served: Served) -> None:
    """With a schema of 2 KB whose checks are repeated, over a list of some thousand objects."""
    items = {"allOf": [{"uniqueItems": True}] * 90}
    tools = [{"name": "paint", "description": "", "parameters": {"type": "object", "properties": {"a": items}}}]
    arguments = json.dumps({"a": [{"b": number} for number in range(3_000)]})
    served.harness.model.script(Answer.calling(ToolCall("call-1", "paint", arguments)))
    events = events_of(await served.post("/runs", run_input(served, tools=tools)))
    assert [call["metadata"]["toolName"] for call in events[-1]["metadata"]["clientTools"]] == ["paint"]


async def ask_for_calls(served: Served, *calls: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """A run that calls the page's tools: the client's messages after the question, and the ids of the calls."""
    served.harness.model.script(Answer.calling(*(calls or (paint(),))))
    events = events_of(await served.post("/runs", run_input(served)))
    message = make_calling_messages(events)
    return message, [call["id"] for call in message[0]["toolCalls"]]


async def test_the_run_ends_as_clients_of_ag_ui_expect_it(served: Served) -> None:
    served.harness.model.script(Answer.calling(paint()))
    *_, finished = events_of(await served.post("/runs", run_input(served)))
    assert "outcome" not in finished
    (call,) = finished["metadata"]["clientTools"]
    assert (call["reason"], call["id"]) == ("client_tool", call["toolCallId"])
    assert list_offered(served.harness)[-2:] == ["choose", "paint"]
    thread = (await served.get(f"/threads/{served.harness.thread_id}")).json()
    assert [interrupt["reason"] for interrupt in thread["interrupts"]] == ["client_tool"]


async def test_a_tool_message_goes_on_with_the_run(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script("There you are.")
    body = run_input(served, *message, tool(call), runId="r-2")
    events = events_of(await served.post("/runs", body))
    assert (events[0]["runId"], events[0]["parentRunId"]) == ("r-2", "r-1")
    assert "There you are." in str(events)
    assert call_results(served.harness) == ["It is red now."]
    # The client has its own message with the result: a second one would double it.
    assert [event["type"] for event in events if event.get("name") == "tool_call_result"] == ["CUSTOM"]
    assert "TOOL_CALL_RESULT" not in [event["type"] for event in events]
    assert (await served.get(f"/threads/{served.harness.thread_id}")).json()["interrupts"] == []
    assert events_of(await served.post("/runs", body)) == events
    assert len(served.harness.model.requests) == 2


async def test_results_may_come_one_by_one(served: Served) -> None:
    message, (first, second) = await ask_for_calls(served, paint(), choose())
    started, finished = events_of(await served.post("/runs", run_input(served, *message, tool(second, "2"))))
    assert (started["type"], finished["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert "outcome" not in finished
    assert [client_tool["id"] for client_tool in finished["metadata"]["clientTools"]] == [first]
    served.harness.model.script("Both.")
    events = events_of(await served.post("/runs", run_input(served, *message, tool(second, "other"), tool(first))))
    assert "Both." in str(events)
    assert call_results(served.harness) == ["It is red now.", "2"]


async def test_results_beside_a_message_are_bounded_and_the_newest_count(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script("I see.")
    made_up = [tool(f"{call[:-7]}{number:07x}", "x" * 32_000) for number in range(60)]
    thanks = {"id": "m-2", "role": "user", "content": "Thanks!"}
    await served.post("/runs", run_input(served, *message, *made_up, tool(call), thanks, runId="r-2"))
    assert call_results(served.harness) == ["It is red now."]
    turn = await served.harness.store.get_turn(served.harness.ada, served.harness.thread_id, "m-2")
    assert turn is not None
    assert turn.client is not None
    assert sum(len(str(result.payload)) for result in turn.client.results) <= 128 * 1024


async def test_an_approval_and_a_result_come_together(served: Served) -> None:
    served.harness.model.script(Answer.calling(paint(), delete("home")))
    events = events_of(await served.post("/runs", run_input(served)))
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    message = make_calling_messages(events)
    (call,) = [tool_call["id"] for tool_call in message[0]["toolCalls"] if tool_call["function"]["name"] == "paint"]
    served.harness.model.script("Done.")
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    await served.post("/runs", run_input(served, *message, tool(call), resume=resume))
    assert call_results(served.harness) == ["It is red now.", "home is gone."]


async def test_later_results_of_one_exchange_answer_the_last_run(served: Served) -> None:
    messages, (first,) = await ask_for_calls(served)
    served.harness.model.script(Answer.calling(paint("blue")), "Blue.")
    more = events_of(await served.post("/runs", run_input(served, *messages, tool(first), runId="r-2")))
    blue = make_calling_messages(more)
    messages = [*messages, tool(first), *blue]
    events = events_of(
        await served.post("/runs", run_input(served, *messages, tool(blue[0]["toolCalls"][0]["id"], "ok")))
    )
    assert "Blue." in str(events)


async def test_resume_brings_a_result_as_well(served: Served) -> None:
    _, (call,) = await ask_for_calls(served)
    served.harness.model.script("Done.")
    resume = [{"interruptId": call, "status": "resolved", "payload": {"painted": True}}]
    events = events_of(await served.post("/runs", run_input(served, messages=[], resume=resume)))
    assert "TOOL_CALL_RESULT" in [event["type"] for event in events]
    assert call_results(served.harness) == ['{"painted": true}']


async def test_a_failed_call_is_reported_as_such(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script("A pity.")
    await served.post("/runs", run_input(served, *message, tool(call, "Error: no canvas", error="no canvas")))
    calls, _ = await served.items(f"/threads/{served.harness.thread_id}/tool-calls")
    assert [(call["succeeded"], call["errorMessage"]) for call in calls] == [(False, "no canvas")]


@pytest.mark.parametrize("call", ["nope", "call", "f" * 32 + "_aaaaaaa"])
async def test_a_result_that_nothing_waits_for_is_refused(served: Served, call: str) -> None:
    message, _ = await ask_for_calls(served)
    refused = await served.post("/runs", run_input(served, *message, tool(call)))
    assert (refused.status_code, refused.json()["code"]) == (409, "interrupt_unavailable")
    thread = (await served.get(f"/threads/{served.harness.thread_id}")).json()
    assert len(thread["interrupts"]) == 1


async def test_nobody_else_may_give_a_result(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    for permissions in ((), ("tool:approve", "thread:read_all")):
        body = run_input(served, *message, tool(call))
        assert (await served.post("/runs", body, *permissions, user="eve")).status_code == 404
    audited = [(record.scope.user_id, record.outcome) for record in served.harness.audit.records]
    assert ("eve", "denied") in audited


async def test_an_approver_of_another_user_offers_nothing(served: Served) -> None:
    served.harness.model.script(Answer.calling(delete("home")))
    events = events_of(await served.post("/runs", run_input(served, tools=[], context=[])))
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    served.harness.model.script("Done.")
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    body = run_input(served, messages=[], resume=resume)
    assert (await served.post("/runs", body, "tool:approve", user="boss")).status_code == 200
    assert "paint" not in list_offered(served.harness)
    assert "Cart" not in str(served.harness.model.requests[-1].contents)


async def test_a_new_page_brings_new_tools_for_the_run_that_goes_on(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script("Done.")
    tools = [{"name": "check_out", "description": "", "parameters": None}]
    await served.post("/runs", run_input(served, *message, tool(call), tools=tools, context=[]))
    assert list_offered(served.harness)[-1] == "check_out"
    assert "paint" not in list_offered(served.harness)


async def test_results_of_batons_own_tools_in_the_history_bring_nothing(served: Served) -> None:
    served.harness.model.script("Hello.")
    own = "call_" + "0" * 32
    started = {"type": "TOOL_CALL_START", "toolCallId": own, "toolCallName": "look", "parentMessageId": "a"}
    body = run_input(served, *make_calling_messages([started]), tool(own))
    assert "Hello." in (await served.post("/runs", body)).text


async def test_a_tool_with_the_name_of_the_agents_own_is_refused(served: Served) -> None:
    refused = await served.post("/runs", run_input(served, tools=[TOOLS[0] | {"name": "delete"}]))
    assert (refused.status_code, refused.json()["code"]) == (409, "tool_name_taken")
    assert (await served.get(f"/threads/{served.harness.thread_id}")).status_code == 404


async def test_a_thread_followed_over_http_has_the_same_events(served: Served) -> None:
    await ask_for_calls(served)
    reported = events_of(await served.get(f"/threads/{served.harness.thread_id}/events", after=0))
    assert "outcome" not in reported[-1]
    assert reported[-1]["metadata"]["clientTools"]


async def test_a_user_who_writes_on_brings_what_the_page_has_done(served: Served) -> None:
    """A tool without a follow-up, as CopilotKit has them: its result comes with the next message."""
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script("You are welcome.")
    more = {"id": "m2", "role": "user", "content": "Thanks!"}
    events = events_of(await served.post("/runs", run_input(served, *message, tool(call), more, runId="r-2")))
    assert call_results(served.harness) == ["It is red now."]
    assert "TOOL_CALL_RESULT" not in [event["type"] for event in events]
    answered = [{"id": "a2", "role": "assistant", "content": "You are welcome."}]
    last = {"id": "m3", "role": "user", "content": "Bye"}
    await served.post("/runs", run_input(served, *message, tool(call), more, *answered, last, runId="r-3"))
    assert call_results(served.harness) == ["It is red now."]
    calls, _ = await served.items(f"/threads/{served.harness.thread_id}/tool-calls")
    assert len(calls) == 1


async def test_a_regenerated_answer_that_calls_the_page_goes_on_with_its_result(served: Served) -> None:
    message, (call,) = await ask_for_calls(served)
    served.harness.model.script(Answer.calling(paint("blue")), "Blue.", "And on.")
    retry = {"branch": {"from": "m1", "regenerate": True}}
    retry = events_of(
        await served.post("/runs", run_input(served, *message, tool(call), forwardedProps=retry, runId="r-2"))
    )
    (blue,) = make_calling_messages(retry)[0]["toolCalls"]
    events = events_of(
        await served.post("/runs", run_input(served, *make_calling_messages(retry), tool(blue["id"], "It is blue.")))
    )
    assert "Blue." in str(events)
    assert call_results(served.harness) == ["It is blue."]
    assert served.harness.model.requests[-1].contents[-3][1] == "Make it red."
    more = {"id": "m2", "role": "user", "content": "More"}
    await served.post("/runs", run_input(served, more, runId="r-4"))
    assert call_results(served.harness) == ["It is blue."]
    assert (await served.post("/runs", run_input(served, *message, tool(call)))).status_code == 409
