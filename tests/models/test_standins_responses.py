"""The stand-ins of the Responses API refuse what the real endpoints refuse, and answer as they answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.models.raw import Json, events, respond
from tests.models.standins import Fault, StandIns

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
THINKS = {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}
CALL = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
HI = {"type": "message", "role": "assistant", "content": "Hi"}
USER = {"role": "user", "content": 'think and use the tool add with {"x": 1}'}


def tool(**more: Any) -> Json:
    """Return a tool; ``more`` replaces fields, and None leaves one out."""
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}}
    fields = {"type": "function", "name": "add", "parameters": parameters, "strict": False} | more
    return {name: value for name, value in fields.items() if value is not None}


def kinds(response: httpx.Response) -> list[str]:
    """Return the types of all events."""
    return [event["type"] for event in events(response)]


def items(response: httpx.Response) -> list[Json]:
    """Return the output items as they are done."""
    return [event["item"] for event in events(response) if event["type"] == "response.output_item.done"]


def test_the_events_are_those_of_openai(stand_ins: StandIns) -> None:
    seen: set[str] = set()
    for text in ("think", "refuse this", "filter this late", USER["content"]):
        for event in events(respond(stand_ins, "openai", text, tools=[tool()], **THINKS)):
            EVENT.validate_python(event, strict=True)
            seen.add(event["type"].removeprefix("response."))
    assert seen >= {
        "created", "output_item.added", "output_item.done", "output_text.delta", "function_call_arguments.delta",
        "reasoning_summary_text.delta", "refusal.delta", "completed", "incomplete",
    }  # fmt: skip


def test_reasoning_is_complete_only_when_its_item_is_done(stand_ins: StandIns) -> None:
    sent = events(respond(stand_ins, "openai", [USER], tools=[tool()], **THINKS))
    [added] = [e["item"] for e in sent if e["type"].endswith("item.added") and e["item"]["type"] == "reasoning"]
    [done] = [e["item"] for e in sent if e["type"].endswith("item.done") and e["item"]["type"] == "reasoning"]
    assert done["encrypted_content"].startswith(added["encrypted_content"])
    assert len(added["encrypted_content"]) < len(done["encrypted_content"])
    assert "encrypted_content" not in items(respond(stand_ins, "openai", [USER], tools=[tool()]))[0]


@pytest.mark.parametrize("summary", ["auto", None])
def test_output_items_can_be_sent_back_with_the_result(stand_ins: StandIns, summary: str | None) -> None:
    fields = {"include": THINKS["include"], "reasoning": {"summary": summary}, "tools": [tool()]}
    output = items(respond(stand_ins, "openai", [USER], **fields))
    assert [item["type"] for item in output] == ["reasoning", "function_call"]
    result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "2"}
    [*_, message] = items(respond(stand_ins, "openai", [USER, *output, result], **fields))
    assert message["content"][0]["text"] == "The tools say: 2"


def make_replayed(stand_ins: StandIns, **change: Any) -> list[Json]:
    """Return the output items of an answer with a call; ``change`` replaces fields of the reasoning."""
    reasoning, call = items(respond(stand_ins, "openai", [USER], tools=[tool()], **THINKS))
    return [reasoning | change, call]


def test_reasoning_that_was_changed_or_comes_from_elsewhere_is_refused(stand_ins: StandIns) -> None:
    for host, change in (("openai", {"encrypted_content": "gAAAAAelse"}), ("openai", {"summary": []}), ("azure", {})):
        output = make_replayed(stand_ins, **change)
        result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "2"}
        response = respond(stand_ins, host, [USER, *output, result], tools=[tool()])
        assert response.json()["error"]["code"] == "invalid_encrypted_content"
        assert "could not be verified" in response.text


def test_reasoning_needs_the_item_that_followed_it(stand_ins: StandIns) -> None:
    reasoning, _ = make_replayed(stand_ins)
    for rest in ([], [{"role": "user", "content": "Hi"}]):
        response = respond(stand_ins, "openai", [USER, reasoning, *rest])
        assert "was provided without its required following item" in response.text


@pytest.mark.parametrize(
    ("host", "fields", "reason"),
    [
        ("openai", {"store": True}, "Store must be false"),
        ("openai", {"store": None}, "Store must be false"),
        ("openai", {"previous_response_id": "resp_1"}, "needs a stored response"),
        ("openai", {"truncation": "auto"}, "drops input"),
        ("openai", {"stop": ["x"]}, "Unknown parameter: 'stop'."),
        ("openai", {"items": [CALL | {"extra_content": {}}, OUTPUT]}, "Unknown parameter: 'input[0].extra_content'."),
        ("openai", {"max_output_tokens": "9"}, "Invalid type"),
        ("openai", {"max_output_tokens": 9}, "Expected a value >= 16"),
        ("openai", {"metadata": {str(number): "" for number in range(17)}}, "metadata"),
        ("openai", {"temperature": 0.2}, "'temperature' is not supported with this model"),
        ("openai", {"reasoning": {"effort": "minimal"}}, "'minimal' is not supported"),
        ("openai-astra", {"reasoning": {"effort": "none"}}, "'none' is not supported"),
        ("openai-gpt4", {"reasoning": {"effort": "low"}}, "'low' is not supported"),
        ("openai", {"tools": [tool(strict=None)]}, "strict"),
        ("openai", {"tools": [tool(strict=True)]}, "invalid_function_parameters"),
        ("openai", {"tools": [tool(parameters={"type": "object"})]}, "object schema missing properties"),
        ("openai", {"tools": [tool(name="two words")]}, "does not match pattern"),
        ("openai", {"tools": [tool(name=f"t{number}") for number in range(129)]}, "array too long"),
        ("openai", {"text": {"format": {"type": "json_schema", "name": "a", "strict": True, "schema":
            {"type": "object", "properties": {}}}}}, "'additionalProperties' is required"),
        ("openai", {"items": []}, "must be provided"),
        ("openai", {"items": [OUTPUT]}, "No tool call found for function call output with call_id call_1"),
        ("openai", {"items": [CALL]}, "No tool output found for function call call_1"),
        ("openai", {"items": [CALL, CALL, OUTPUT]}, "Duplicate call_id"),
        ("openai", {"items": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]}, "Invalid"),
        ("openai", {"items": [{"type": "reasoning", "id": "rs_1", "summary": []}, HI]}, "Items are not persisted"),
        ("openai", {"items": "filter this"}, "violating our usage policy"),
        ("azure", {"items": "filter this"}, "content_filter"),
    ],
)  # fmt: skip
def test_a_request_is_refused_in_openais_words(stand_ins: StandIns, host: str, fields: Json, reason: str) -> None:
    response = respond(stand_ins, host, **fields)
    assert response.status_code in (400, 404)
    assert reason in response.text
    assert stand_ins.journal.refused


def test_a_prompt_that_is_too_long_is_refused(stand_ins: StandIns) -> None:
    stand_ins.responses.contexts["openai"] = 100
    assert respond(stand_ins, "openai", "word " * 200).json()["error"]["code"] == "context_length_exceeded"


def test_an_answer_that_is_too_long_is_incomplete(stand_ins: StandIns) -> None:
    *_, end = events(respond(stand_ins, "openai", "say 90 words", max_output_tokens=16))
    assert (end["type"], end["response"]["incomplete_details"]) == (
        "response.incomplete",
        {"reason": "max_output_tokens"},
    )


def test_mantle_counts_the_calls_of_each_answer_from_nought(stand_ins: StandIns) -> None:
    calls = [items(respond(stand_ins, "mantle", "use the tool add", tools=[tool()])) for _ in range(2)]
    assert [[call["call_id"] for call in call] for call in calls] == [["call_0"], ["call_0"]]


def test_an_answer_has_the_form_that_was_asked_for(stand_ins: StandIns) -> None:
    schema = {
        "type": "object",
        "properties": {"w": {"type": "string"}},
        "required": ["w"],
        "additionalProperties": False,
    }
    form = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}
    [message] = items(respond(stand_ins, "openai", "hello", text=form))
    assert message["content"][0]["text"] == '{"w": "hello"}'


def test_attachments_are_named(stand_ins: StandIns) -> None:
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0K"}
    file = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,Zm9ydHk="}
    content = [{"type": "input_text", "text": "see"}, image, file]
    [message] = items(respond(stand_ins, "openai", [{"role": "user", "content": content}]))
    assert message["content"][0]["text"].startswith(
        "I received: image  (image/png, 6 bytes); document a.txt (text/plain, 5 bytes) forty."
    )


def test_a_response_can_fail_in_the_middle(stand_ins: StandIns) -> None:
    failed = {"type": "error", "code": "server_error", "message": "Sorry.", "param": None, "sequence_number": 9}
    stand_ins.journal.fail(Fault(after=6, then="event", event=failed), Fault(status=429, body={"error": {}}))
    assert kinds(respond(stand_ins, "openai"))[-2:] == ["response.output_text.delta", "error"]
    assert respond(stand_ins, "openai").status_code == 429
    assert kinds(respond(stand_ins, "openai"))[-1] == "response.completed"
