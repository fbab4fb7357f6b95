"""Calls that wait for a person are shown with their arguments wherever the command shows them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from baton_client.interrupt_texts import write_text
from tests.unit.command.served import ScriptedServer, listing, stream
from tests.unit.command.typed import Typed

ARGUMENTS = '{"number": "A-7", "euros": 12.5}'
CALL = f"refund {ARGUMENTS}"
ASKED: dict[str, Any] = {
    "id": "i",
    "reason": "tool_approval",
    "message": "May I use refund?",
    "toolCallId": "c",
    "responseSchema": {"properties": {"approved": {}}},
    "metadata": {"toolName": "refund", "arguments": ARGUMENTS},
}
"""By a server that sends no fields."""
FIELDS = [
    {"name": "number", "label": "Order", "text": "A-7", "depth": 0, "inText": True},
    {"name": "note", "label": "Note", "text": "Sorry\n\x1b[31mEuros: 1", "depth": 0, "inText": False},
    {"name": "customer", "label": "Customer", "text": "", "depth": 0, "inText": False},
    {"name": "customer.name", "label": "Name", "text": "Ada", "depth": 1, "inText": False},
]
WORDED = ASKED | {
    "message": "Refund €12.50 of the order A-7?",
    "metadata": ASKED["metadata"] | {"label": "Refund", "fields": FIELDS},
}
LINES = """\
  ? Refund €12.50 of the order A-7?
    Note: Sorry
      [31mEuros: 1
    Customer:
      Name: Ada
"""
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
    """Simulate a user at the terminal."""
    typed = Typed(*messages, answers=answers)
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: typed)
    return typed


def resumes(server: ScriptedServer) -> list[Any]:
    """The answers that were sent."""
    return [resume for request in server.sent("POST /v1/runs") if (resume := json.loads(request.content).get("resume"))]


def test_a_chat_asks_once_with_the_arguments(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = type_in(monkeypatch, "Refund it", answers=("y",))
    server.answer("POST /v1/runs", stream(*WAITS), stream(BEGUN, ENDED))
    output = server.run("chat").output
    assert typed.prompts == ["  [y/N or a reason] "]
    assert f"> calls {CALL}" in output
    assert output.count(f"? May I use refund? [{CALL}]") == 1
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


def serve_waiting_conversation(server: ScriptedServer) -> None:
    """Serve the conversation ``t``, which waits for an approval."""
    calls = [{"id": "c", "function": {"name": "refund", "arguments": ARGUMENTS}}]
    message = {"id": "m", "role": "assistant", "name": "Shop", "toolCalls": calls, "metadata": {"status": "complete"}}
    thread = {"id": "t", "status": "active", "interrupts": [ASKED], "lastSeq": 7}
    server.answer("GET /v1/threads/t", httpx.Response(200, json=thread))
    server.answer("GET /v1/threads/t/messages", listing(message))


def test_a_reopened_conversation_asks_with_the_arguments(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = type_in(monkeypatch, answers=("y",))
    serve_waiting_conversation(server)
    server.answer("POST /v1/runs", stream(BEGUN, ENDED))
    output = server.run("chat", "t").output
    assert f"> Shop calls {CALL}" in output
    assert f"? May I use refund? [{CALL}]" in output
    assert len(typed.prompts) == 1


def test_a_shown_conversation_has_the_question_and_the_calls(server: ScriptedServer) -> None:
    serve_waiting_conversation(server)
    output = server.run("threads", "show", "t").stdout
    assert f"> Shop calls {CALL}" in output
    assert f"? May I use refund? [{CALL}]" in output


def test_a_followed_conversation_shows_the_question_with_the_arguments(server: ScriptedServer) -> None:
    serve_waiting_conversation(server)
    events = [{**event, "metadata": {"seq": number}} for number, event in enumerate(WAITS, 8)]
    server.answer("GET /v1/threads/t/events", stream(*events))
    output = server.run("tail", "t", "--one-run").stdout
    assert f"> calls {CALL}" in output
    assert f"? May I use refund? [{CALL}]" in output


def test_a_script_is_shown_what_waits_with_the_arguments(server: ScriptedServer) -> None:
    server.answer("POST /v1/runs", stream(*WAITS))
    assert f"[{CALL}]" in server.run("chat", "-m", "Refund it").stderr


def ask_in_words(server: ScriptedServer) -> None:
    """Make the next run wait for an answer in words."""
    start = {
        "type": "TOOL_CALL_START",
        "toolCallId": "c",
        "toolCallName": "refund",
        "metadata": {"seq": 2, "label": "Refund"},
    }
    ends = {**ENDED, "outcome": {"type": "interrupt", "interrupts": [WORDED]}}
    server.answer("POST /v1/runs", stream(BEGUN, start, *WAITS[2:-1], ends), stream(BEGUN, ENDED))


def test_a_chat_shows_the_question_and_labelled_lines_and_no_json(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "Refund it", answers=("yes",))
    ask_in_words(server)
    output = server.run("chat").output
    assert f"  > calls Refund\n{LINES}" in output
    assert "{" not in output
    assert len(resumes(server)) == 1


def test_a_script_reads_one_line_with_the_command_that_answers(server: ScriptedServer) -> None:
    ask_in_words(server)
    printed = server.run("chat", "-m", "Refund it").stderr
    question = "Refund €12.50 of the order A-7? (Note: Sorry; [31mEuros: 1; Customer: Name: Ada)"
    assert f"{question} Answer with `baton chat " in printed
    assert " --answer yes` (or no, or a reason to refuse)." in printed
    assert "{" not in printed


@pytest.mark.parametrize(
    ("reply", "payload"), [("yes", {"approved": True}), ("too dear", {"approved": False, "comment": "too dear"})]
)
def test_a_script_answers_by_a_command(server: ScriptedServer, reply: str, payload: dict[str, object]) -> None:
    serve_waiting_conversation(server)
    server.answer("POST /v1/runs", stream(BEGUN, ENDED))
    assert server.run("chat", "t", "--answer", reply).exit_code == 0
    assert [answer["payload"] for [answer] in resumes(server)] == [payload]


def test_an_answer_to_nothing_is_an_error(server: ScriptedServer) -> None:
    server.answer("GET /v1/threads/t", httpx.Response(200, json={"id": "t", "status": "active", "interrupts": []}))
    assert "The conversation waits for no approval." in server.run("chat", "t", "--answer", "yes").stderr


def test_a_program_has_the_same_texts(server: ScriptedServer) -> None:
    assert write_text(WORDED) == (
        "Refund €12.50 of the order A-7?\nNote: Sorry\n  \x1b[31mEuros: 1\nCustomer:\n  Name: Ada"
    )
