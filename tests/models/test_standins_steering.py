"""The words of the last user message decide what a stand-in answers, and faults what becomes of the answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.models.raw import Json, call_in, chat, deltas, make_call, text_of, tool, user
from tests.models.standins import Fault, StandIns

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
WORD: Json = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": WORD}}
TOOLS = [tool()]


@pytest.mark.parametrize(
    ("text", "fields", "answer"),
    [
        ("hello", {}, "You said: hello"),
        ("say 3 words", {}, "w0 w1 w2"),
        ("say nothing", {}, ""),
        ("use the tool sub", {"tools": TOOLS}, "I have no tool sub."),
        ("hello", {"response_format": SCHEMA}, '{"word": "hello"}'),
        ([{"type": "text", "text": "see"}, IMAGE, FILE], {}, "I received: image  (image/png, 6 bytes); document a.pdf"
         " (application/pdf, 4 bytes). You said: see"),
    ],
)  # fmt: skip
def test_the_users_words_decide_the_answer(stand_ins: StandIns, text: Any, fields: Json, answer: str) -> None:
    assert text_of(chat(stand_ins, "plain", [user(text)], **fields)) == answer


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('use the tool add with {"x": {"y": 2}}', [("add", '{"x": {"y": 2}}')]),
        ("use the tool add with malformed arguments", [("add", '{"half": ')]),
        ("use the tool add", [("add", '{"x": 1}')]),
        ("use add and ask_wiki in parallel", [("add", '{"x": 1}'), ("ask_wiki", '{"x": 1}')]),
        ("ask wiki about dogs", [("ask_wiki", '{"message": "dogs"}')]),
        ("hand me over to sales", [("transfer_to_sales", '{"x": 1}')]),
    ],
)
def test_the_users_words_decide_the_calls(stand_ins: StandIns, text: str, calls: list[tuple[str, str]]) -> None:
    tools = [tool(name) for name in ("add", "ask_wiki", "transfer_to_sales")]
    results: dict[int, list[str]] = {}
    for delta in deltas(chat(stand_ins, "plain", [user(text)], tools=tools)):
        for fragment in delta.get("tool_calls", ()):
            parts = results.setdefault(fragment["index"], [fragment["function"].get("name", ""), ""])
            parts[1] += fragment["function"]["arguments"]
    assert [tuple(parts) for parts in results.values()] == calls


def test_a_tool_is_used_as_often_as_the_user_says(stand_ins: StandIns) -> None:
    request, once = [user('use the tool add with {"x": 1} 2 times')], make_call()
    assert call_in(chat(stand_ins, "plain", request + once, tools=TOOLS))
    assert text_of(chat(stand_ins, "plain", request + once + once, tools=TOOLS)) == "The tools say: 2 | 2"


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (Fault(status=503, body={"error": {"message": "overloaded"}}), "overloaded"),
        (Fault(after=2, then="event", event={"error": {"code": 502}}), '"code": 502'),
        (Fault(after=2, then="end"), "You "),
        (Fault(piece=3), "You "),
    ],
)
def test_a_fault_meets_one_request(stand_ins: StandIns, fault: Fault, seen: str) -> None:
    stand_ins.journal.fail(fault, who="plain")
    assert seen in chat(stand_ins, "plain", [user()]).text
    assert text_of(chat(stand_ins, "plain", [user()])) == "You said: Hello"
    assert not stand_ins.journal.refused


def test_a_connection_can_be_dropped_and_a_client_that_leaves_is_noted(stand_ins: StandIns) -> None:
    stand_ins.journal.fail(Fault(after=2, then="drop"), Fault(after=2, then="silence"))
    with pytest.raises(httpx.RemoteProtocolError):
        chat(stand_ins, "plain", [user()])
    url, body = f"{stand_ins.base_url('plain')}/chat/completions", {"model": "m", "messages": [user()], "stream": True}
    with httpx.stream("POST", url, json=body, headers={"authorization": "Bearer any"}) as response:
        assert any("still thinking" in line for line in response.iter_lines())
    assert stand_ins.journal.wait_for_hangup()
