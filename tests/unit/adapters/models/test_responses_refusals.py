"""Refusals and failures over the Responses API: other forms, the other API, retries and errors."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from baton.adapters.models.profiles.profile import Api
from baton.domain.errors import (
    ContextTooLong,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRefused,
    ModelUnavailable,
    OutOfCredit,
)
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, Prompt, TextDelta, ToolSpec
from tests.fakes.thread_files import MemoryThreadFiles
from tests.unit.adapters.models.responses_endpoint import (
    ADD,
    GATEWAY,
    HELLO,
    Endpoint,
    Event,
    Refusal,
    answers,
    ask,
    call,
    end_of,
    make_end,
    make_prompt,
    message,
    reasoning,
    settings,
    stream_items,
    text_of,
)

HI = answers(message("Hi."))
RESPONSES = {"*": {"api": Api.RESPONSES}}
RESULT = Prompt(Role.TOOL, "2", tool_call_id="call_1")
TOOLS_NEED_RESPONSES = Refusal(
    400,
    "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'.",
    param="reasoning_effort",
)
CHAT = [
    {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": None}], "model": "gpt"},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "gpt"},
]


async def make_tool_conversation() -> list[Prompt]:
    """Return a conversation in a loop of tools, with reasoning of gpt-6-sol at OpenAI."""
    endpoint = Endpoint(answers(reasoning("secret"), call("add", '{"x": 1}')))
    return [*HELLO, make_prompt(await ask(endpoint.model(), tools=[ADD])), RESULT]


def kinds(body: dict[str, Any]) -> list[str]:
    return [item["type"] for item in body["input"]]


# Reasoning that the endpoint does not take back


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(400, "The encrypted content gAAA... could not be verified.", code="invalid_encrypted_content"),
        Refusal(400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        Refusal(400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
        Refusal(404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        [
            make_end(
                status="failed", error={"code": "invalid_encrypted_content", "message": "It could not be verified."}
            )
        ],
    ],
)
async def test_a_request_is_repeated_once_without_reasoning_that_is_refused(refusal: Any) -> None:
    endpoint = Endpoint(refusal, HI, HI)
    model = endpoint.model()
    prompts = await make_tool_conversation()
    assert text_of(await ask(model, prompts, tools=[ADD])) == "Hi."
    assert kinds(endpoint.bodies[0]) == ["message", "reasoning", "function_call", "function_call_output"]
    assert kinds(endpoint.bodies[1]) == ["message", "function_call", "function_call_output"]
    assert "id" not in endpoint.bodies[1]["input"][1]
    await ask(model, prompts, tools=[ADD])
    assert kinds(endpoint.bodies[2]) == kinds(endpoint.bodies[0])  # other reasoning may be taken


async def test_reasoning_that_is_refused_twice_ends_the_turn() -> None:
    endpoint = Endpoint(Refusal(400, "It could not be verified.", code="invalid_encrypted_content"))
    with pytest.raises(ModelRefused):
        await ask(endpoint.model(), await make_tool_conversation(), tools=[ADD])
    assert len(endpoint.requests) == 2


# The other API


async def test_a_model_that_takes_tools_over_responses_only_is_asked_there_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint = Endpoint(TOOLS_NEED_RESPONSES, HI)
    model = endpoint.model(GATEWAY)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert text_of(await ask(model, tools=[ADD], model="gpt-5.6-sol")) == "Hi."
    assert endpoint.paths == ["/chat/completions", "/responses", "/responses"]
    learned = [record for record in caplog.records if "A fact of the model was learned" in record.message]
    assert [(record.fact, record.value) for record in learned] == [("api", "responses")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(404, "404 page not found"),
        Refusal(404, "Not Found"),
        Refusal(405, "Method Not Allowed"),
        Refusal(404, "Invalid URL (POST /v1/responses)"),
        Refusal(400, "The model 'openai.gpt-oss-safeguard-20b' isn't supported on this route."),
        Refusal(400, "This model is not supported with the Responses API."),
        Refusal(404, "This is a chat model. Did you mean to use v1/chat/completions?"),
    ],
)
async def test_an_endpoint_without_responses_is_asked_over_chat_completions_from_then_on(refusal: Refusal) -> None:
    endpoint = Endpoint(refusal, CHAT)
    model = endpoint.model(GATEWAY, profiles=RESPONSES)
    for _ in range(2):
        assert text_of(await ask(model)) == "Hi."
    assert endpoint.paths == ["/responses", "/chat/completions", "/chat/completions"]


@pytest.mark.parametrize("text", ["The model 'gpt-7' does not exist.", "The API deployment does not exist."])
async def test_a_model_that_does_not_exist_is_asked_over_no_other_api(text: str) -> None:
    endpoint = Endpoint(Refusal(404, text))
    with pytest.raises(ModelMisconfigured):
        await ask(endpoint.model(GATEWAY, profiles=RESPONSES))
    assert endpoint.paths == ["/responses"]


async def test_a_model_that_needs_responses_at_a_gateway_without_it_does_not_think() -> None:
    endpoint = Endpoint(TOOLS_NEED_RESPONSES, Refusal(404, "Not Found"), TOOLS_NEED_RESPONSES, CHAT)
    model = endpoint.model(GATEWAY)
    for _ in range(2):
        assert text_of(await ask(model, tools=[ADD], model="gpt-5.6-sol")) == "Hi."
    await ask(model, model="gpt-5.6-sol")
    assert endpoint.paths == ["/chat/completions", "/responses", *["/chat/completions"] * 4]
    assert [body.get("reasoning_effort") for body in endpoint.bodies[2:]] == [None, "none", "none", None]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Invalid URL (POST /v2/chat/completions)", ["/chat/completions"]),
        ("It isn't supported on this route.", ["/chat/completions", "/responses", "/chat/completions"]),
    ],
)
async def test_an_endpoint_that_refuses_both_apis_is_not_asked_again_and_again(text: str, paths: list[str]) -> None:
    endpoint = Endpoint(Refusal(404, text))
    with pytest.raises(ModelMisconfigured):
        await ask(endpoint.model(GATEWAY))
    assert endpoint.paths == paths


async def test_a_tool_loop_goes_on_over_the_other_api_without_what_only_the_first_can_read() -> None:
    endpoint = Endpoint(Refusal(404, "Not Found"), CHAT)
    await ask(endpoint.model(), await make_tool_conversation(), tools=[ADD])
    assert [item["role"] for item in endpoint.bodies[1]["messages"]] == ["user", "assistant", "tool"]
    assert "secret" not in str(endpoint.bodies[1])


# Fields that the model does not take


@pytest.mark.parametrize(
    ("refusal", "fields", "dropped"),
    [
        (
            Refusal(400, "Unsupported parameter: 'temperature' is not supported with this model.", param="temperature"),
            {"temperature": 0.3},
            "temperature",
        ),
        (
            Refusal(400, "'reasoning.effort' is not supported with this model.", param="reasoning.effort"),
            {"reasoning_effort": "low"},
            "reasoning",
        ),
        (
            Refusal(400, "Model some-model does not support parameter reasoningEffort."),
            {"reasoning_effort": "low"},
            "reasoning",
        ),
        (Refusal(400, "Unknown parameter: 'reasoning'.", param="reasoning"), {"reasoning_effort": "low"}, "reasoning"),
        (
            Refusal(400, "Your organization must be verified to generate summaries.", param="reasoning.summary"),
            {"shows_reasoning": True},
            "reasoning",
        ),
        (Refusal(400, "'verbosity' is not supported here.", param="text.verbosity"), {"verbosity": "low"}, "text"),
        (Refusal(400, "Encrypted content is not supported with this model.", param="include"), {}, "include"),
        (Refusal(400, "Argument not supported: include"), {}, "include"),
        (
            Refusal(422, "Extra inputs are not permitted: parallel_tool_calls"),
            {"parallel_tool_calls": False},
            "parallel_tool_calls",
        ),
    ],
)
async def test_a_field_that_a_refusal_names_is_dropped_and_stays_so(
    refusal: Refusal, fields: dict[str, Any], dropped: str
) -> None:
    endpoint = Endpoint(refusal, HI)
    model = endpoint.model(GATEWAY, profiles=RESPONSES)
    for _ in range(2):
        chunks = await ask(model, model="some-model", tools=[ADD], **fields)
    assert [dropped in body for body in endpoint.bodies] == [True, False, False]
    reported = {"reasoning": ("reasoning_effort",), "include": (), "text": ("verbosity",)}
    if "shows_reasoning" not in fields:
        assert end_of(chunks).dropped == reported.get(dropped, (dropped,))


async def test_effort_is_dropped_alone_where_a_summary_is_asked_for_too() -> None:
    endpoint = Endpoint(Refusal(400, "'reasoning.effort' is not supported.", param="reasoning.effort"), HI)
    await ask(endpoint.model(), reasoning_effort="low", shows_reasoning=True)
    assert endpoint.bodies[1]["reasoning"] == {"summary": "auto"}


async def test_a_strict_schema_that_is_refused_is_sent_as_a_lax_one() -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    endpoint = Endpoint(
        Refusal(400, "Invalid schema for function 'now': In context=()", param="tools[0].parameters"), HI
    )
    await ask(endpoint.model(), tools=[ToolSpec("now", "Tells the time.", schema)])
    assert [body["tools"][0]["strict"] for body in endpoint.bodies] == [True, False]


async def test_a_schema_of_the_answer_that_is_refused_is_put_into_the_prompt() -> None:
    refusal = Refusal(400, "Unsupported: 'text.format' of type 'json_schema'.", param="text.format")
    endpoint = Endpoint(refusal, refusal, HI)
    await ask(endpoint.model(GATEWAY, profiles=RESPONSES), model="some-model", answer_schema={"type": "object"})
    assert [body.get("text", {}).get("format", {}).get("type") for body in endpoint.bodies] == [
        "json_schema",
        "json_object",
        None,
    ]
    assert "JSON Schema" in endpoint.bodies[2]["input"][0]["content"]


# Failures


def fail(code: str, text: str = "It failed.") -> list[Event]:
    return [make_end(status="failed", error={"code": code, "message": text})]


def error(code: str | None, text: str = "It failed.") -> list[Event]:
    return [{"type": "error", "code": code, "message": text, "param": None, "sequence_number": 0}]


@pytest.mark.parametrize(
    "answer",
    [
        fail("server_error"),
        fail("rate_limit_exceeded"),
        error("server_error"),
        error(None),
        [{"type": "error", "error": {"type": "server_error", "message": "It failed."}}],
        [make_end(status="failed", error=None)],
        Refusal(503, "Overloaded"),
        Refusal(429, "Slow down", code="rate_limit_exceeded"),
    ],
)
async def test_what_may_pass_is_tried_again_before_the_first_word(answer: Any) -> None:
    endpoint = Endpoint(answer, HI)
    assert text_of(await ask(endpoint.model())) == "Hi."
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("answer", "meant"), [(fail("server_error"), ModelUnavailable), (fail("rate_limit_exceeded"), ModelRateLimited)]
)
async def test_nothing_is_tried_again_after_the_first_word(answer: list[Event], meant: type[ModelError]) -> None:
    endpoint = Endpoint([*stream_items(message("Half ")), *answer])
    stream = endpoint.model().stream(settings(), HELLO, thread_files=MemoryThreadFiles())
    assert await anext(stream) == TextDelta("Half ")
    with pytest.raises(meant):
        await anext(stream)
    assert len(endpoint.requests) == 1


async def test_an_answer_that_fills_the_context_ends_there() -> None:
    overflow = error("context_length_exceeded", "Your input exceeds the context window of this model.")
    endpoint = Endpoint([*stream_items(message("Half ")), *overflow])
    stream = endpoint.model().stream(settings(), HELLO, thread_files=MemoryThreadFiles())
    chunks = [chunk async for chunk in stream]
    assert chunks[0] == TextDelta("Half ")
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].reason is FinishReason.LENGTH
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        (fail("invalid_prompt", "Invalid prompt."), ModelRefused),
        (fail("data_residency_mismatch"), ModelRefused),
        (error("insufficient_quota"), OutOfCredit),
        (Refusal(400, "Your input exceeds the context window.", code="context_length_exceeded"), ContextTooLong),
        (Refusal(401, "Incorrect API key provided.", code="invalid_api_key"), ModelMisconfigured),
    ],
)
async def test_what_stays_is_not_tried_again(answer: Any, meant: type[ModelError]) -> None:
    endpoint = Endpoint(answer)
    with pytest.raises(ModelError) as raised:
        await ask(endpoint.model())
    assert type(raised.value) is meant
    assert len(endpoint.requests) == 1
