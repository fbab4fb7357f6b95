"""Calls that wait for a person are shown with their arguments wherever the command shows them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.unit.command.served import ScriptedServer, listing, stream
from tests.unit.command.typed import Typed

ARGUMENTS = '{"number": "A-7", "euros": 12.5}'
CALL = f"refund {ARGUMENTS}"
ASKED = {
    "id": "i",
    "reason": "tool_approval",
    "message": "May I use refund?",
    "toolCallId": "c",
    "responseSchema": {"properties": {"approved": {}}},
    "metadata": {"toolName": "refund", "arguments": ARGUMENTS},
}
BEGUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ENDED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
WAITS: list[dict[str, Any]] = [
    BEGUN,
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "refund"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ARGUMENTS[:9]},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ARGUMENTS[9:]},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {**ENDED, "outcome": {"type": "interrupt", "interrupts": [ASKED]}},
]


def type_in(monkeypatch: pytest.MonkeyPatch, *messages: str, answers: tuple[str, ...] = ()) -> Typed:
    """Let somebody sit at the terminal."""
    typed = Typed(*messages, answers=answers)
    monkeypatch.setattr("baton_client.command.chat.chat_input", lambda: typed)
    return typed


def resumes(server: ScriptedServer) -> list[Any]:
    """The answers that were sent."""
    return [resume for request in server.sent("POST /v1/runs") if (resume := json.loads(request.content).get("resume"))]


def test_a_chat_asks_once_with_the_arguments(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = type_in(monkeypatch, "Refund it", answers=("y",))
    server.answer("POST /v1/runs", stream(*WAITS), stream(BEGUN, ENDED))
    output = server.run("chat").output
    assert typed.prompts == [f"May I use refund? [{CALL}] [y/N or a reason] "]
    assert f"> calls {CALL}" in output
    assert "May I use refund?" not in output
    assert resumes(server) == [[{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}]]


@pytest.mark.parametrize(
    ("reply", "payload"),
    [
        ("ok", {"approved": True}),
        ("Sure", {"approved": True}),
        ("", {"approved": False}),
        ("n", {"approved": False}),
        ("too much", {"approved": False, "comment": "too much"}),
    ],
)
def test_an_answer_is_yes_no_or_a_reason_to_refuse(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, reply: str, payload: dict[str, object]
) -> None:
    type_in(monkeypatch, "Refund it", answers=(reply,))
    server.answer("POST /v1/runs", stream(*WAITS), stream(BEGUN, ENDED))
    server.run("chat")
    [[answer]] = resumes(server)
    assert answer["payload"] == payload


def waiting(server: ScriptedServer) -> None:
    """Let the server have the conversation ``t``, which waits."""
    calls = [{"id": "c", "function": {"name": "refund", "arguments": ARGUMENTS}}]
    message = {"id": "m", "role": "assistant", "name": "Shop", "toolCalls": calls, "metadata": {"status": "complete"}}
    thread = {"id": "t", "status": "active", "interrupts": [ASKED], "lastSeq": 7}
    server.answer("GET /v1/threads/t", httpx.Response(200, json=thread))
    server.answer("GET /v1/threads/t/messages", listing(message))


def test_a_reopened_conversation_asks_with_the_arguments(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = type_in(monkeypatch, answers=("y",))
    waiting(server)
    server.answer("POST /v1/runs", stream(BEGUN, ENDED))
    assert f"> Shop calls {CALL}" in server.run("chat", "t").output
    assert typed.prompts == [f"May I use refund? [{CALL}] [y/N or a reason] "]


def test_a_shown_conversation_has_the_question_and_the_calls(server: ScriptedServer) -> None:
    waiting(server)
    output = server.run("threads", "show", "t").stdout
    assert f"> Shop calls {CALL}" in output
    assert f"? May I use refund? [{CALL}]" in output


def test_a_followed_conversation_shows_the_question_with_the_arguments(server: ScriptedServer) -> None:
    waiting(server)
    events = [{**event, "metadata": {"seq": number}} for number, event in enumerate(WAITS, 8)]
    server.answer("GET /v1/threads/t/events", stream(*events))
    output = server.run("tail", "t", "--one-run").stdout
    assert f"> calls {CALL}" in output
    assert f"? May I use refund? [{CALL}]" in output


def test_a_script_is_shown_what_waits_with_the_arguments(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(*WAITS))
    assert f"[{CALL}]" in server.run("chat", "-m", "Refund it").stderr
