"""Requests over the Responses API hold the conversation, its tools and its settings."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart

from baton.adapters.models.profiles.profile import Api
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt, ToolSpec
from tests.unit.adapters.models.responses_endpoint import (
    ADD,
    GATEWAY,
    HELLO,
    OPENAI,
    Endpoint,
    answers,
    ask,
    call,
    calls_of,
    end_of,
    make_prompt,
    message,
    reasoning,
)

PNG = b"\x89PNG\r\n\x1a\n and so on"
RESULT = Prompt(Role.TOOL, "2", tool_call_id="call_1")
WORKS = (
    reasoning("first secret", item_id="rs_1", summary=["Add them."]),
    message("One moment.", item_id="msg_1", phase="commentary"),
    reasoning("second secret", item_id="rs_2"),
    call("add", '{"x": 1}'),
)
"""An answer with two pieces of reasoning, text and a call."""


def user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


async def make_request(
    *prompts: Prompt, tools: Sequence[ToolSpec] = (), base_url: str = OPENAI, **fields: Any
) -> dict[str, Any]:
    """Return the request for these prompts."""
    endpoint = Endpoint(answers(message("Hi.")))
    await ask(endpoint.model(base_url), prompts or HELLO, tools=tools, **fields)
    assert endpoint.paths == ["/responses"]
    return endpoint.bodies[0]


async def test_a_plain_question_asks_for_nothing_to_be_stored() -> None:
    assert await make_request() == {
        "model": "gpt-6-sol",
        "input": [user("Hello")],
        "store": False,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "include": ["reasoning.encrypted_content"],
    }


async def test_settings_are_sent_in_their_fields_and_those_that_the_model_refuses_are_reported() -> None:
    endpoint = Endpoint(answers(message("Hi.")))
    chunks = await ask(
        endpoint.model(sends_metadata=True),
        temperature=0.3,
        max_output_tokens=200,
        reasoning_effort="low",
        verbosity="high",
        shows_reasoning=True,
        cache_key="thread",
        metadata={"agent": "assistant"},
    )
    [body] = endpoint.bodies
    assert "temperature" not in body
    assert end_of(chunks).dropped == ("temperature",)
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["text"] == {"verbosity": "high"}
    assert body["prompt_cache_key"] == "thread"
    assert body["metadata"] == {"agent": "assistant"}


@pytest.mark.parametrize(
    ("model", "effort", "most"), [("gpt-6-sol", None, 4_200), ("gpt-6-sol", "none", 200), ("gpt-5", "low", 4_200)]
)
async def test_short_answers_have_room_for_thinking(model: str, effort: str | None, most: int) -> None:
    body = await make_request(model=model, max_output_tokens=200, reasoning_effort=effort)
    assert body["max_output_tokens"] == most


async def test_the_limit_is_never_below_the_least_that_openai_takes() -> None:
    body = await make_request(model="gpt-6-sol", max_output_tokens=5, reasoning_effort="none")
    assert body["max_output_tokens"] == 16


async def test_further_fields_are_passed_through_and_join_objects_of_their_name() -> None:
    extra = {"service_tier": "flex", "reasoning": {"context": "current_turn"}}
    body = await make_request(reasoning_effort="low", extra=extra)
    assert body["service_tier"] == "flex"
    assert body["reasoning"] == {"effort": "low", "context": "current_turn"}


async def test_system_prompts_stay_where_they_stand() -> None:
    body = await make_request(
        Prompt(Role.SYSTEM, "Be kind."), *HELLO, Prompt(Role.ASSISTANT, "Hi!"), Prompt(Role.SYSTEM, "It rains.")
    )
    assert [(item["role"], item["content"]) for item in body["input"]] == [
        ("system", "Be kind."),
        ("user", "Hello"),
        ("assistant", "Hi!"),
        ("system", "It rains."),
    ]
    assert "instructions" not in body


async def test_blank_messages_are_left_out_and_an_empty_result_has_a_sentence() -> None:
    calls = (ToolCall("call_1", "add", ""),)
    body = await make_request(
        Prompt(Role.ASSISTANT, " "), *HELLO, Prompt(Role.ASSISTANT, "", tool_calls=calls), replace(RESULT, content="")
    )
    assert body["input"] == [
        user("Hello"),
        {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"malformed": ""}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "(no output)"},
    ]


async def test_attachments_are_parts_of_the_users_message() -> None:
    encoded = base64.b64encode(PNG).decode()
    pdf = base64.b64encode(b"%PDF-1.7 and so on").decode()
    parts = (
        TextPart(text="What is this?"),
        ImagePart(source=DataSource(value=encoded, mime_type="image/png")),
        DocumentPart(source=DataSource(value=pdf, mime_type="application/pdf")),
    )
    body = await make_request(Prompt(Role.USER, parts))
    assert body["input"] == [
        user(
            [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{encoded}", "detail": "auto"},
                {"type": "input_file", "filename": "document.pdf", "file_data": f"data:application/pdf;base64,{pdf}"},
            ]
        )
    ]


# Tools

STRICT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        (ADD.parameters, False),
        (STRICT, True),
        (STRICT | {"properties": {"x": {"oneOf": [{"type": "number"}, {"type": "string"}]}}}, False),
        ({"type": "object"}, False),
    ],
)
async def test_tools_say_whether_their_schema_is_strict(schema: dict[str, Any], is_strict: bool) -> None:
    body = await make_request(tools=[ToolSpec("add", "Adds.", schema)])
    [tool] = body["tools"]
    assert (tool["type"], tool["name"], tool["description"], tool["strict"]) == ("function", "add", "Adds.", is_strict)
    assert tool["parameters"]["type"] == "object"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("auto", "auto"), ("required", "required"), ("none", "none"), ("add", {"type": "function", "name": "add"})],
)
async def test_the_choice_of_a_tool_is_sent(choice: str, sent: Any) -> None:
    body = await make_request(
        *HELLO,
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("call_1", "add", "{}"),)),
        RESULT,
        tools=[ADD],
        tool_choice=choice,
        parallel_tool_calls=False,
    )
    assert (body["tool_choice"], body["parallel_tool_calls"], len(body["tools"])) == (sent, False, 1)


async def test_a_tools_name_that_the_api_refuses_is_changed_alike_in_all_places() -> None:
    endpoint = Endpoint(answers(call("look_up", "{}")))
    history = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("call_1", "look.up", "{}"),))
    chunks = await ask(endpoint.model(), [*HELLO, history, RESULT], tools=[ToolSpec("look.up", "Finds.", {})])
    assert endpoint.bodies[0]["tools"][0]["name"] == "look_up"
    assert endpoint.bodies[0]["input"][1]["name"] == "look_up"
    assert [tool_call.name for tool_call in calls_of(chunks)] == ["look.up"]


# Structured answers


@pytest.mark.parametrize("is_strict", [True, False])
async def test_the_schema_of_the_answer_is_its_format(is_strict: bool) -> None:
    schema = STRICT if is_strict else ADD.parameters
    body = await make_request(answer_schema=schema)
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "answer", "strict": is_strict, "schema": dict(schema)}
    }


# Reasoning in a loop of tools


async def answer(*items: dict[str, Any]) -> Prompt:
    """Return an answer of gpt-6-sol at OpenAI, as later prompts hold it."""
    return make_prompt(await ask(Endpoint(answers(*items)).model(), tools=[ADD]))


async def test_reasoning_goes_back_verbatim_and_in_its_place() -> None:
    body = await make_request(*HELLO, await answer(*WORKS), RESULT, tools=[ADD])
    first, text, second, called = WORKS
    assert body["input"][1:] == [
        first,
        text,
        second,
        {name: value for name, value in called.items() if name != "status"},
        {"type": "function_call_output", "call_id": "call_1", "output": "2"},
    ]


async def test_two_messages_of_an_answer_go_back_as_they_were() -> None:
    messages = (message("First."), message("Second.", item_id="msg_2", phase="final_answer"))
    reported = await answer(reasoning("secret"), *messages)
    assert reported.content == "First.\n\nSecond."
    body = await make_request(*HELLO, reported)
    assert body["input"][2:] == list(messages)


async def test_reasoning_of_an_earlier_turn_is_left_out_and_so_are_the_ids_that_ask_for_it() -> None:
    body = await make_request(
        *HELLO, await answer(*WORKS), RESULT, Prompt(Role.ASSISTANT, "2"), Prompt(Role.USER, "Thanks.")
    )
    assert body["input"][1:4] == [
        {"type": "message", "role": "assistant", "content": "One moment.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"x": 1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "2"},
    ]


@pytest.mark.parametrize("other", [{"model": "gpt-6-luna"}, {"base_url": "https://acme.openai.azure.com/openai/v1"}])
async def test_reasoning_goes_to_no_other_model_and_no_other_host(other: dict[str, Any]) -> None:
    endpoint = Endpoint(answers(message("Hi.")))
    client = endpoint.model(other.get("base_url", OPENAI))
    await ask(client, [*HELLO, await answer(*WORKS), RESULT], tools=[ADD], model=other.get("model", "gpt-6-sol"))
    assert [item["type"] for item in endpoint.bodies[0]["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


async def test_parts_of_other_models_are_not_sent() -> None:
    signed = ProviderParts(
        "bedrock:eu-west-1/claude", Replay.ALWAYS, ({"item": {"type": "reasoning", "signature": "x"}}, {"call": 0})
    )
    reported = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("tooluse_1", "add", "{}"),), provider_parts=signed)
    body = await make_request(*HELLO, reported, Prompt(Role.TOOL, "2", tool_call_id="tooluse_1"), tools=[ADD])
    assert [item["type"] for item in body["input"]] == ["message", "function_call", "function_call_output"]


async def test_parts_that_no_longer_fit_their_message_are_left_out() -> None:
    reported = await answer(*WORKS)
    body = await make_request(*HELLO, replace(reported, content="One..."), RESULT, tools=[ADD])
    assert [item["type"] for item in body["input"]] == ["message", "message", "function_call", "function_call_output"]
    assert body["input"][1] == {"type": "message", "role": "assistant", "content": "One..."}


@pytest.mark.parametrize(
    "lost", [{"type": "reasoning", "id": "rs_1", "summary": []}, reasoning("", item_id="rs_1")], ids=["none", "empty"]
)
async def test_reasoning_without_its_content_spoils_all_of_an_answers_reasoning(lost: dict[str, Any]) -> None:
    reported = await answer(lost, reasoning("secret", item_id="rs_2"), call("add", "{}"))
    assert reported.provider_parts is None


async def test_a_call_keeps_the_id_that_its_history_gave_it() -> None:
    reported = await answer(reasoning("secret"), call("add", "{}", call_id="call_0"))
    renamed = replace(reported, tool_calls=(replace(reported.tool_calls[0], id="call_ours"),))
    body = await make_request(*HELLO, renamed, Prompt(Role.TOOL, "2", tool_call_id="call_ours"), tools=[ADD])
    assert [item["call_id"] for item in body["input"][2:]] == ["call_ours", "call_ours"]


async def test_an_id_that_openai_refuses_is_replaced_alike_for_a_call_and_its_result() -> None:
    foreign = "functions/add:" + "x" * 80
    reported = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall(foreign, "add", "{}"),))
    body = await make_request(*HELLO, reported, Prompt(Role.TOOL, "2", tool_call_id=foreign), tools=[ADD])
    [called, result] = body["input"][1:]
    assert called["call_id"] == result["call_id"]
    assert re.fullmatch(r"\w{1,40}", called["call_id"])


async def test_an_endpoint_of_which_nothing_is_known_gets_no_field_of_openai() -> None:
    endpoint = Endpoint(answers(message("Hi.")))
    client = endpoint.model(GATEWAY, profiles={"*": {"api": Api.RESPONSES}})
    await ask(client, model="some-model", cache_key="thread", temperature=0.3)
    [body] = endpoint.bodies
    assert body.keys() == {"model", "input", "store", "stream", "include", "temperature"}
