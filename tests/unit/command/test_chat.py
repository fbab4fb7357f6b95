"""Conversations without a terminal, and how events are shown."""

from __future__ import annotations

import json
import shlex
from typing import Any

import httpx
import pytest

from tests.unit.command.served import ScriptedServer, problem, stream

BEGUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ENDED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}


def make_message_events(*deltas: str) -> list[dict[str, Any]]:
    """The events of one message."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "name": "Assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]


def test_an_answer_is_shown_with_what_led_to_it(server: ScriptedServer) -> None:
    events: list[dict[str, Any]] = [
        BEGUN,
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "Research"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a",
            "activityType": "handoff",
            "content": {"label": "Connecting you..."},
        },
        {
            "type": "STATE_DELTA",
            "delta": [{"path": "/workflow", "value": {"name": "Skill", "label": "Naming", "step": 2, "steps": 4}}],
        },
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "p",
            "activityType": "progress",
            "content": {"tool": "search", "label": "1 of 3"},
        },
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "p",
            "activityType": "progress",
            "content": {"tool": "search", "label": "2 of\n3"},
        },
        {"type": "SOMETHING_NEW"},
        *make_message_events("Hel", "lo\x1b[2J [red]"),
        ENDED,
    ]
    server.answer("POST /v1/runs", stream(*events))
    result = server.run("chat", "-m", "Hi")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "  > Research is at work",
        "  > Research has answered",
        "  * Connecting you...",
        "  * Skill: Naming (step 2 of 4)",
        "  > search: 1 of 3",
        "  > search: 2 of 3",
        "Assistant: Hello[2J [red]",
    ]


def test_a_call_that_was_refused_or_failed_is_shown_with_its_reason(server: ScriptedServer) -> None:
    result_event = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c"}
    server.answer(
        "POST /v1/runs",
        stream(
            BEGUN,
            {**result_event, "content": "Error: The day is\nover.", "metadata": {"outcome": "refused"}},
            {**result_event, "content": "x" * 600, "metadata": {"outcome": "failed"}},
            {**result_event, "content": "All well.", "metadata": {"outcome": "succeeded"}},
            ENDED,
        ),
    )
    refused, failed = server.run("chat", "-m", "Hi").stdout.splitlines()
    assert refused == "  > the call was refused: The day is over."
    assert failed == f"  > the call failed: {'x' * 499}…"


def test_each_line_of_the_input_is_a_message(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(BEGUN, *make_message_events("Yes."), ENDED))
    result = server.run("chat", typed="One\n\nTwo\n")
    bodies = [json.loads(request.content) for request in server.sent("POST /v1/runs")]
    assert [body["messages"][0]["content"] for body in bodies] == ["One", "Two"]
    assert len({body["threadId"] for body in bodies}) == 1
    assert result.stdout == "Assistant: Yes.\n" * 2


def test_a_lost_connection_is_taken_up_without_a_repeat(server: ScriptedServer) -> None:
    whole = [BEGUN, *make_message_events("One ", "two"), ENDED]

    def send_rest(request: httpx.Request) -> httpx.Response:
        assert request.url.params["after"] == "3"
        return stream(*whole)

    def send_beginning(request: httpx.Request) -> httpx.Response:
        thread_id = json.loads(request.content)["threadId"]
        server.answer(f"GET /v1/threads/{thread_id}/events", send_rest)
        return stream(*whole[:3])

    server.answer("POST /v1/runs", send_beginning)
    assert server.run("chat", "-m", "Hi").stdout == "Assistant: One two\n"


def test_a_run_that_fails_is_an_error(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(BEGUN, {"type": "RUN_ERROR", "message": "No model.", "code": "model_failed"}))
    result = server.run("chat", "-m", "Hi")
    assert result.exit_code == 1
    assert result.stderr == "baton: model_failed: No model.\n"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_is_approved_by_nobody(server: ScriptedServer, options: tuple[str, ...]) -> None:
    schema = {"properties": {"approved": {}}}
    interrupt = {"id": "i", "reason": "tool_approval", "message": "May I?", "responseSchema": schema}
    outcome = {"type": "interrupt", "interrupts": [{**interrupt, "metadata": {"toolName": "delete_page"}}]}
    server.answer("POST /v1/runs", stream(BEGUN, {**ENDED, "outcome": outcome}))
    result = server.run("chat", "-m", "Hi", *options)
    assert result.exit_code == 1
    assert "delete_page" in result.stderr
    assert len(server.sent("POST /v1/runs")) == 1


def test_events_are_lines_of_json(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(BEGUN, *make_message_events("Hi"), ENDED))
    lines = server.run("chat", "-m", "Hi", "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines][:2] == ["RUN_STARTED", "TEXT_MESSAGE_START"]


def test_a_conversation_is_followed_to_the_end_of_a_run(server: ScriptedServer) -> None:
    server.answer("GET /v1/threads/t", httpx.Response(200, json={"id": "t", "lastSeq": 7}))
    messages = [{"id": "m", "role": "user", "content": "Hi"}]
    run_input = {"threadId": "t", "runId": "r", "state": {}, "messages": messages, "tools": [], "context": []}
    begun_event = {**BEGUN, "input": {**run_input, "forwardedProps": {}}, "metadata": {"seq": 8}}
    server.answer("GET /v1/threads/t/events", stream(begun_event, {**ENDED, "metadata": {"seq": 9}}))
    assert server.run("tail", "t", "--one-run").stdout == "You: Hi\n"
    assert server.requests[-1].url.params["after"] == "7"


@pytest.mark.parametrize("text", ["hello", "What's caching?", "x" * 300])
def test_a_message_in_the_place_of_a_conversation_is_explained(server: ScriptedServer, text: str) -> None:
    refused = problem(404, "thread_unavailable") if len(text) <= 256 else problem(422, "invalid_request")
    server.answer(f"GET /v1/threads/{text}", refused)
    result = server.run("chat", text)
    assert result.exit_code == (4 if len(text) <= 256 else 2)
    assert f"To send that as a message: baton chat -m {shlex.quote(text)}" in result.stderr
    started = server.run("chat", text, "-m", "Hi")
    assert "Leave the id out to begin one." in started.stderr


def test_a_token_that_expires_in_the_stream_is_reported_and_the_run_goes_on(server: ScriptedServer) -> None:
    expiry = {"type": "RUN_ERROR", "code": "token_expired", "message": "Come again.", "metadata": {}}
    server.answer("POST /v1/runs", stream(BEGUN, *make_message_events("One ")[:2], expiry))
    result = server.run("chat", "-m", "Hi")
    assert result.exit_code == 3
    assert result.stdout == "Assistant: One \n"
    assert len(server.requests) == 1


def test_a_run_whose_first_event_never_came_is_asked_for_again(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(), stream(BEGUN, *make_message_events("Yes."), ENDED))
    assert server.run("chat", "-m", "Hi").stdout == "Assistant: Yes.\n"
    first, second = (json.loads(request.content) for request in server.sent("POST /v1/runs"))
    assert first == second
