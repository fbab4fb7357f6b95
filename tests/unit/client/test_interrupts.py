"""Interrupts that a run waits for: functions of the program, and people."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

import baton_client
from baton_client import Answer as GivenAnswer
from baton_client import APIConnectionError, Interrupt, StreamInterruptedError, client_tool
from tests.unit.client.scripted import THREAD_ID, Answer, Json, Served, make_end, make_start, number_events, run, stream

RUNS = "POST /v1/runs"


def call(name: str, arguments: str, call_id: str = "call-1") -> list[Json]:
    """The events of one call."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def stream_tool_call(name: str, arguments: str) -> Answer:
    """Return the stream of a run that ends with a call of the program's own tool."""
    waits = {"id": "call-1", "reason": "client_tool", "toolCallId": "call-1", "metadata": {"toolName": name}}
    end = {name: value for name, value in make_end(metadata={"clientTools": [waits]}).items() if name != "outcome"}
    return stream(*number_events([make_start(), *call(name, arguments), end]))


def stream_question() -> Answer:
    """Return the stream of a run that ends with a question."""
    waits = {
        "id": "i-1",
        "reason": "tool_approval",
        "message": "Delete it?",
        "toolCallId": "call-1",
        "metadata": {"toolName": "delete_page"},
    }
    end = make_end(outcome={"type": "interrupt", "interrupts": [waits]})
    return stream(*number_events([make_start(), *call("delete_page", '{"page": 1}'), end]))


def answers(served: Served) -> Any:
    """The answers of the last request."""
    return json.loads(served.script.sent(RUNS)[-1].content).get("resume")


@client_tool
def set_colour(colour: str, shade: int = 5) -> dict[str, Any]:
    """Set the colour of the page."""
    if colour == "plaid":
        raise LookupError("no such colour")
    return {"was": "white", "is": f"{colour} {shade}"}


def test_a_function_is_offered_by_its_name_docstring_and_parameters() -> None:
    assert set_colour.to_wire() == {
        "name": "set_colour",
        "description": "Set the colour of the page.",
        "parameters": {
            "type": "object",
            "properties": {
                "colour": {"title": "Colour", "type": "string"},
                "shade": {"title": "Shade", "type": "integer", "default": 5},
            },
            "required": ["colour"],
            "additionalProperties": False,
        },
    }
    assert set_colour("red") == {"was": "white", "is": "red 5"}


def test_a_function_is_called_and_the_run_goes_on_with_its_result(served: Served) -> None:
    served.script.answer(
        RUNS, stream_tool_call("set_colour", '{"colour": "blue"}'), stream(*run("It is blue.", start=6))
    )
    result = served.client.runs.create("Make it blue", thread_id=THREAD_ID, tools=[set_colour])
    assert (result.text, result.outcome, result.interrupts) == ("It is blue.", "success", [])
    payload = {"was": "white", "is": "blue 5"}
    assert answers(served) == [{"interruptId": "call-1", "status": "resolved", "payload": payload}]
    first, second = (json.loads(request.content) for request in served.script.sent(RUNS))
    assert first["tools"] == second["tools"] == [set_colour.to_wire()]
    assert first["runId"] != second["runId"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"colour": "plaid"}', "LookupError: 'no such colour'|LookupError: no such colour"),
        ('{"color": "blue"}', "ValueError: .*colour.*"),
        ("{broken", "ValueError: .*JSON.*"),
        ('{"colour": "blue", "shade": "dark"}', "ValueError: shade: .*integer.*"),
    ],
)
def test_a_function_that_fails_is_reported_to_the_model(served: Served, arguments: str, reason: str) -> None:
    served.script.answer(RUNS, stream_tool_call("set_colour", arguments), stream(*run("I cannot.", start=6)))
    assert served.client.runs.create("Do", thread_id=THREAD_ID, tools=[set_colour]).text == "I cannot."
    [answer] = answers(served)
    assert answer["status"] == "cancelled"
    assert re.match(reason, answer["payload"]["reason"])


def test_a_result_that_is_too_large_is_reported_to_the_model(served: Served) -> None:
    def read_everything() -> str:
        """Read everything."""
        return "x" * 40_000

    served.script.answer(RUNS, stream_tool_call("read_everything", "{}"), stream(*run("Too much.", start=6)))
    served.client.runs.create("Read", thread_id=THREAD_ID, tools=[read_everything])
    assert "40,002 bytes" in answers(served)[0]["payload"]["reason"]


def test_a_call_of_somebody_elses_tool_is_left_waiting(served: Served) -> None:
    served.script.answer(RUNS, stream_tool_call("print_page", "{}"))
    result = served.client.runs.create("Print", thread_id=THREAD_ID, tools=[set_colour])
    [waiting] = result.interrupts
    assert (result.outcome, waiting.tool_name, waiting.reason) == ("interrupt", "print_page", "client_tool")


@pytest.mark.parametrize(
    ("decision", "payload"),
    [
        (True, {"approved": True}),
        (False, {"approved": False}),
        ("Not that page.", {"approved": False, "comment": "Not that page."}),
    ],
)
def test_a_person_decides_by_the_programs_question(served: Served, decision: bool | str, payload: Json) -> None:
    seen: list[Interrupt] = []

    def approve(interrupt: Interrupt) -> bool | str:
        seen.append(interrupt)
        return decision

    served.script.answer(RUNS, stream_question(), stream(*run("Done.", start=6)))
    result = served.client.runs.create("Delete", thread_id=THREAD_ID, approve=approve)
    assert result.text == "Done."
    assert answers(served) == [{"interruptId": "i-1", "status": "resolved", "payload": payload}]
    assert (seen[0].message, seen[0].tool_name, seen[0].arguments) == ("Delete it?", "delete_page", '{"page": 1}')


def test_a_run_without_anybody_to_ask_waits_and_is_answered_later(served: Served) -> None:
    served.script.answer(RUNS, stream_question(), stream(*run("Done.", start=6)))
    result = served.client.runs.create("Delete", thread_id=THREAD_ID)
    assert result.outcome == "interrupt"
    later = [GivenAnswer.approval(result.interrupts[0].id, approved=True)]
    assert served.client.runs.create(thread_id=THREAD_ID, answers=later).text == "Done."
    assert answers(served)[0]["payload"] == {"approved": True}


def test_an_asynchronous_function_needs_the_asynchronous_client(served: Served) -> None:
    async def fetch() -> str:
        """Fetch something."""
        return "never await_result"

    served.script.answer(RUNS, stream_tool_call("fetch", "{}"))
    with pytest.raises(baton_client.ConfigurationError, match="Use AsyncBaton"):
        served.client.runs.create("Fetch", thread_id=THREAD_ID, tools=[fetch])


def test_a_function_that_no_model_could_call_is_refused_at_once() -> None:
    with pytest.raises(baton_client.ConfigurationError, match="docstring"):
        client_tool(lambda: None)

    def many(*parts: str) -> None:
        """Join parts."""

    with pytest.raises(baton_client.ConfigurationError, match="parameters have names"):
        client_tool(many)


def test_an_earlier_message_is_answered_again_without_a_new_one(served: Served) -> None:
    served.script.answer(RUNS, stream(*run("Another answer.")))
    branch = {"regenerate": True, "from": "m-1"}
    assert served.client.runs.create(thread_id=THREAD_ID, branch=branch).text == "Another answer."
    body = json.loads(served.script.sent(RUNS)[0].content)
    assert (body["messages"], body["forwardedProps"]["branch"]) == ([], branch)


def test_there_must_be_something_to_send(served: Served) -> None:
    with pytest.raises(baton_client.ConfigurationError, match="Give a message"):
        served.client.runs.create(thread_id=THREAD_ID)


def test_the_arguments_of_a_call_that_was_not_seen_come_with_the_question(served: Served) -> None:
    about = {"toolName": "refund", "arguments": '{"euros": 12.5}'}
    waits = {"id": "i-1", "reason": "tool_approval", "message": "May I?", "toolCallId": "c", "metadata": about}
    end = make_end(outcome={"type": "interrupt", "interrupts": [waits]})
    served.script.answer(RUNS, stream(*number_events([make_start(), end])))
    [waiting] = served.client.runs.create("Refund it", thread_id=THREAD_ID).interrupts
    assert (waiting.arguments, waiting.arguments_by_name) == ('{"euros": 12.5}', {"euros": 12.5})
    assert Interrupt("i", "tool_approval", arguments='{"text": "cut\u2026').arguments_by_name == {}


def test_a_result_is_sent_again_until_a_restarted_server_has_it(served: Served) -> None:
    gone = httpx.ConnectError("refused")
    served.script.answer(
        RUNS, stream_tool_call("set_colour", '{"colour": "blue"}'), *[gone] * 9, stream(*run("It is blue.", start=6))
    )
    result = served.client.runs.create("Make it blue", thread_id=THREAD_ID, tools=[set_colour])
    assert result.text == "It is blue."
    sent = [json.loads(request.content) for request in served.script.sent(RUNS)[1:]]
    assert len(sent) == 10
    assert all(body == sent[0] for body in sent)


def test_a_result_that_cannot_be_sent_comes_with_the_error_and_its_conversation(served: Served) -> None:
    served.script.answer(RUNS, stream_tool_call("set_colour", '{"colour": "blue"}'), httpx.ConnectError("refused"))
    with pytest.raises(StreamInterruptedError) as failed:
        served.client.runs.create("Make it blue", thread_id="booking-1", tools=[set_colour])
    assert failed.value.thread_id == THREAD_ID
    payload = {"was": "white", "is": "blue 5"}
    assert failed.value.answers == (GivenAnswer("call-1", "resolved", payload),)


def test_a_server_that_never_answered_is_reported_at_once(served: Served) -> None:
    served.script.answer(RUNS, httpx.ConnectError("refused"))
    with pytest.raises(APIConnectionError) as failed:
        served.client.runs.create("Hello", thread_id=THREAD_ID)
    assert not isinstance(failed.value, StreamInterruptedError)
