"""The OpenAI adapter against an endpoint that really misbehaves, over real HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

import pytest

from baton.adapters.openai import OpenAIChatModel
from baton.domain.errors import (
    ContentFiltered,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    StoreUnavailable,
)
from baton.domain.message import Role
from baton.domain.usage import Usage
from baton.ports.chat_model import (
    Finished,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from tests import fault_model as fault
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import Behaviour, FaultModel
from tests.integration.models.conftest import SECRET

SETTINGS = ModelSettings(model="fault-1", timeout_seconds=30)
HELLO = (Prompt(Role.USER, "Hello"),)
FILES = MemoryThreadFiles()
ADD = ToolSpec("add", "Adds numbers.", {"type": "object", "properties": {"x": {"type": "number"}}})
MakeModel = Callable[..., OpenAIChatModel]


async def ask(model: OpenAIChatModel, settings: ModelSettings = SETTINGS, *prompts: Prompt) -> list[ModelChunk]:
    return [chunk async for chunk in model.stream(settings, prompts or HELLO, thread_files=FILES)]


async def ask_until_error(model: OpenAIChatModel, settings: ModelSettings = SETTINGS) -> tuple[str, ModelError]:
    text = ""
    try:
        async for chunk in model.stream(settings, HELLO, thread_files=FILES):
            text += chunk.text if isinstance(chunk, TextDelta) else ""
    except ModelError as error:
        return text, error
    pytest.fail("The model answered.")


def text_of(chunks: list[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


# A healthy endpoint


async def test_an_answer_streams_in_pieces_and_ends_with_its_usage(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.answers("One two three."))
    *pieces, end = await ask(model)
    assert pieces == [TextDelta("One "), TextDelta("two "), TextDelta("three.")]
    assert isinstance(end, Finished)
    assert (end.reason, end.model) == (FinishReason.STOP, "fault-1")
    assert end.usage is not None
    assert end.usage.output_tokens == 3


async def test_the_request_says_what_the_prompts_and_settings_say(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    settings = ModelSettings(model="gpt-x", temperature=0.3, max_output_tokens=77, timeout_seconds=30)
    await ask(
        model,
        settings,
        Prompt(Role.SYSTEM, "Be kind."),
        Prompt(Role.CONTEXT, "It rains."),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.ASSISTANT, "Hi!", name="Baton Assistant"),
        Prompt(Role.USER, "How are you?"),
    )
    assert fault_model.bodies == [
        {
            "model": "gpt-x",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "system", "content": "It rains."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi!", "name": "Baton_Assistant"},
                {"role": "user", "content": "How are you?"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.3,
            "max_tokens": 77,
        }
    ]
    assert fault_model.requests[0].path == "/v1/chat/completions"


async def test_the_key_is_sent_as_a_bearer_token(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    await ask(model)
    assert fault_model.requests[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_a_fetched_key_is_asked_for_at_every_request(make_model: MakeModel, fault_model: FaultModel) -> None:
    keys = iter(["first", "second"])

    async def fetch() -> str:
        return next(keys)

    model = make_model(api_key=fetch)
    await ask(model)
    await ask(model)
    assert [r.headers["authorization"] for r in fault_model.requests] == ["Bearer first", "Bearer second"]


async def test_a_key_that_cannot_be_fetched_keeps_its_own_error(make_model: MakeModel) -> None:
    async def fetch() -> str:
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await ask(make_model(api_key=fetch))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("eos", FinishReason.STOP),
    ],
)
async def test_the_reason_to_stop_is_passed_on(
    model: OpenAIChatModel, fault_model: FaultModel, said: str, meant: FinishReason
) -> None:
    fault_model.script(fault.answers(finish=said))
    end = (await ask(model))[-1]
    assert isinstance(end, Finished)
    assert end.reason is meant


async def test_many_answers_stream_at_once_and_none_gets_anothers_text(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    questions = [f"question {n} of many" for n in range(100)]
    answers = await asyncio.gather(*(ask(model, SETTINGS, Prompt(Role.USER, question)) for question in questions))
    assert [text_of(chunks) for chunks in answers] == questions


def test_one_model_serves_one_event_loop_after_another(fault_model: FaultModel) -> None:
    model = OpenAIChatModel(api_key=SECRET, base_url=fault_model.base_url)

    async def once() -> str:
        text = text_of(await ask(model))
        await model.aclose()
        return text

    assert [asyncio.run(once()) for _ in range(3)] == ["Hello"] * 3


# Tools


async def call_tools(
    model: OpenAIChatModel, *prompts: Prompt, heard: list[ModelChunk] | None = None
) -> list[ModelChunk]:
    heard = [] if heard is None else heard
    async for chunk in model.stream(SETTINGS, prompts or HELLO, thread_files=FILES, tools=(ADD,)):
        heard.append(chunk)
    return heard


async def test_tools_are_sent_as_functions_and_results_after_their_calls(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    await call_tools(
        model,
        Prompt(Role.USER, "1 and 2?"),
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("c1", "add", '{"x": 1}'), ToolCall("c2", "add", '{"x": '))),
        Prompt(Role.TOOL, "1", tool_call_id="c1"),
        Prompt(Role.TOOL, "The arguments are not JSON.", tool_call_id="c2"),
    )
    [body] = fault_model.bodies
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "add", "description": "Adds numbers.", "parameters": dict(ADD.parameters)},
        }
    ]
    assert "parallel_tool_calls" not in body
    assert "tool_choice" not in body
    assert body["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"malformed": "{\\"x\\": "}'}},
        ],
    }
    assert body["messages"][2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "The arguments are not JSON."},
    ]


@pytest.mark.parametrize("finish", ["tool_calls", "function_call", "stop"])
async def test_calls_are_the_reason_to_stop_whatever_the_endpoint_calls_it(
    model: OpenAIChatModel, fault_model: FaultModel, finish: str
) -> None:
    fault_model.script(fault.calls_tools(("add", {"x": 1}), ("add", {"x": 2}), finish=finish))
    *calls, end = await call_tools(model)
    assert calls == [ToolCall("call_0", "add", '{"x": 1}'), ToolCall("call_1", "add", '{"x": 2}')]
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.TOOL_CALLS
    assert end.usage is not None


async def test_a_call_may_come_whole_in_the_last_chunk_without_id_and_index(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    whole = fault.chunk(fault.tool_delta(None, name="add", arguments={"x": 1}), "tool_calls")
    fault_model.script(fault.sends(whole, "[DONE]"))
    [call, end] = await call_tools(model)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("add", '{"x": 1}')
    assert call.id
    assert end == Finished(FinishReason.TOOL_CALLS, "fault-1", None)


async def test_an_answer_that_was_cut_gives_out_no_half_call(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.calls_tools(("add", {"x": 1}), ("add", '{"x": 12'), text="So:", finish="length"))
    said, call, end = await call_tools(model)
    assert (said, call) == (TextDelta("So:"), ToolCall("call_0", "add", '{"x": 1}'))
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH


async def test_a_stream_that_breaks_in_a_call_is_tried_again_as_nothing_was_given_out(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.breaks_in_a_call("add", '{"x": 1}'), fault.calls_tools(("add", {"x": 2})))
    assert (await call_tools(model))[0] == ToolCall("call_0", "add", '{"x": 2}')
    assert len(fault_model.requests) == 2


async def test_a_stream_that_breaks_in_a_call_after_text_gives_out_the_text_only(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.breaks_in_a_call("add", '{"x": 1}', ONE_WORD))
    heard: list[ModelChunk] = []
    with pytest.raises(ModelUnavailable):
        await call_tools(model, heard=heard)
    assert heard == [TextDelta(ONE_WORD)]


async def test_an_endpoint_that_takes_no_tools_refuses(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.refuses_parameter("tools")
    with pytest.raises(ModelRefused):
        await call_tools(model)
    assert text_of(await ask(model)) == "Hello there."
    assert len(fault_model.requests) == 2


# Endpoints that speak a dialect


async def test_an_endpoint_that_does_not_count_gives_no_usage(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.answers(usage=False))
    end = (await ask(model))[-1]
    assert isinstance(end, Finished)
    assert end.usage is None


async def test_an_endpoint_that_refuses_stream_options_is_asked_without_them_from_then_on(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.refuses_parameter("stream_options")
    assert text_of(await ask(model)) == text_of(await ask(model)) == "Hello there."
    assert ["stream_options" in body for body in fault_model.bodies] == [True, False, False]


async def test_a_reasoning_model_gets_its_limit_under_the_name_it_wants(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.refuses_parameter("max_tokens", "Use 'max_completion_tokens' instead.")
    settings = ModelSettings(model="o-model", max_output_tokens=5, timeout_seconds=30)
    await ask(model, settings)
    await ask(model, settings)
    assert [body.get("max_completion_tokens") for body in fault_model.bodies] == [None, 5, 5]


async def test_running_counts_in_every_chunk_add_up_to_the_last(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    counted = [fault.chunk({"content": "a"}, usage={"prompt_tokens": 7, "completion_tokens": n}) for n in (1, 2)]
    fault_model.script(fault.sends(*counted, fault.chunk({}, "stop"), "[DONE]"))
    assert (await ask(model))[-1] == Finished(FinishReason.STOP, "fault-1", Usage(7, 2))


async def test_an_answer_that_is_complete_does_not_need_its_counts(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    async def breaks_before_the_counts(exchange: fault.Exchange) -> None:
        await exchange.open_stream()
        await exchange.words(["Done."])
        await exchange.event(fault.chunk({}, "stop"))
        raise fault.Broken

    fault_model.script(breaks_before_the_counts)
    assert await ask(model) == [TextDelta("Done."), Finished(FinishReason.STOP, "fault-1", None)]


# Failures that pass: repeated as long as nothing was said


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(fault.rate_limited(), id="429"),
        pytest.param(fault.rate_limited("0"), id="429 with Retry-After"),
        pytest.param(fault.status(408), id="408"),
        pytest.param(fault.status(500), id="500"),
        pytest.param(fault.unavailable(), id="503"),
        pytest.param(fault.refused_connection(), id="dropped connection"),
        pytest.param(fault.breaks_after(), id="stream broken before the first word"),
        pytest.param(fault.ends_after(), id="stream ended before the first word"),
        pytest.param(fault.html(), id="a web page"),
        pytest.param(fault.html(502), id="a web page as 502"),
        pytest.param(fault.invalid_json(), id="invalid JSON"),
        pytest.param(fault.error_after(error={"code": 503, "message": "overloaded"}), id="error object at once"),
    ],
)
async def test_a_failure_before_the_first_word_is_not_noticed(
    model: OpenAIChatModel, fault_model: FaultModel, failure: Behaviour
) -> None:
    fault_model.script(failure, failure, fault.answers("Fine now."))
    assert text_of(await ask(model)) == "Fine now."
    assert len(fault_model.requests) == 3


async def test_attempts_are_bounded(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.unavailable()
    _, error = await ask_until_error(model)
    assert isinstance(error, ModelUnavailable)
    assert len(fault_model.requests) == 3


@pytest.mark.parametrize("retry_after", ["60", "Fri, 31 Dec 2999 23:59:59 GMT"])
async def test_an_endpoint_that_wants_long_rest_is_left_alone(
    model: OpenAIChatModel, fault_model: FaultModel, retry_after: str
) -> None:
    fault_model.script(fault.rate_limited(retry_after))
    _, error = await ask_until_error(model)
    assert isinstance(error, ModelRateLimited)
    assert len(fault_model.requests) == 1


async def test_no_attempt_is_made_that_would_begin_after_the_models_time(
    make_model: MakeModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.unavailable()
    model = make_model(backoff_seconds=8.0)
    await ask_until_error(model, ModelSettings(model="fault-1", timeout_seconds=5))
    assert len(fault_model.requests) == 1


# Failures that stay


ONE_WORD = "Half "


@pytest.mark.parametrize(
    ("failure", "expected", "said"),
    [
        pytest.param(fault.rate_limited(), ModelRateLimited, "", id="429"),
        pytest.param(fault.status(429, {"code": "insufficient_quota"}), ModelRateLimited, "", id="empty account"),
        pytest.param(fault.status(408), ModelTimeout, "", id="408"),
        pytest.param(fault.status(500), ModelUnavailable, "", id="500"),
        pytest.param(fault.unavailable(), ModelUnavailable, "", id="503"),
        pytest.param(fault.html(), ModelUnavailable, "", id="a web page"),
        pytest.param(fault.invalid_json(), ModelUnavailable, "", id="invalid JSON"),
        pytest.param(fault.sends('"text"', "[DONE]"), ModelUnavailable, "", id="JSON of another shape"),
        pytest.param(fault.sends({"choices": [{}]}, "[DONE]"), ModelUnavailable, "", id="an empty choice"),
        pytest.param(fault.sends({"choices": "x"}, "[DONE]"), ModelUnavailable, "", id="choices of another type"),
        pytest.param(fault.sends(fault.chunk({"tool_calls": "x"})), ModelUnavailable, "", id="calls of another type"),
        pytest.param(
            fault.sends(fault.chunk(fault.tool_delta(0, arguments="{}"), "tool_calls")),
            ModelUnavailable,
            "",
            id="a call without a name",
        ),
        pytest.param(fault.unauthorized(), ModelRefused, "", id="401"),
        pytest.param(fault.status(404, {"code": "model_not_found"}), ModelRefused, "", id="unknown model"),
        pytest.param(fault.status(400, {"code": "context_length_exceeded"}), ModelRefused, "", id="prompt too long"),
        pytest.param(fault.filtered_prompt(), ContentFiltered, "", id="filtered question"),
        pytest.param(fault.filtered_answer(), ContentFiltered, "", id="filtered answer, nothing said"),
        pytest.param(fault.filtered_answer(ONE_WORD), ContentFiltered, ONE_WORD, id="filtered answer"),
        pytest.param(fault.sends(fault.chunk({"refusal": "I cannot"})), ContentFiltered, "", id="refusal"),
        pytest.param(fault.breaks_after(ONE_WORD), ModelUnavailable, ONE_WORD, id="broken stream"),
        pytest.param(fault.ends_after(ONE_WORD), ModelUnavailable, ONE_WORD, id="unfinished stream"),
        pytest.param(fault.error_after(ONE_WORD, error="oops"), ModelUnavailable, ONE_WORD, id="error text"),
        pytest.param(fault.error_after(ONE_WORD, error={"code": 429}), ModelRateLimited, ONE_WORD, id="429 in stream"),
        pytest.param(
            fault.error_after(ONE_WORD, error={"type": "rate_limit_error"}),
            ModelRateLimited,
            ONE_WORD,
            id="limit by name",
        ),
        pytest.param(
            fault.error_after(ONE_WORD, error={"type": "invalid_request_error"}),
            ModelRefused,
            ONE_WORD,
            id="refused by name",
        ),
        pytest.param(
            fault.error_after(ONE_WORD, error={"code": "content_filter"}),
            ContentFiltered,
            ONE_WORD,
            id="filter by name",
        ),
    ],
)
async def test_a_failure_that_stays_is_told_by_its_own_error(
    model: OpenAIChatModel, fault_model: FaultModel, failure: Behaviour, expected: type[ModelError], said: str
) -> None:
    fault_model.otherwise = failure
    text, error = await ask_until_error(model)
    assert type(error) is expected
    assert text == said
    if said or not error.retryable:
        assert len(fault_model.requests) == 1


async def test_nobody_listening_is_told_as_unavailable(make_model: MakeModel) -> None:
    _, error = await ask_until_error(make_model(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(error, ModelUnavailable)


@pytest.mark.parametrize(
    ("behaviour", "seconds", "said"),
    [
        pytest.param(fault.silence(), 1.0, "", id="never answers"),
        # Long enough for the first word to come on a busy machine.
        pytest.param(fault.hangs_after(ONE_WORD), 3.0, ONE_WORD, id="hangs in the middle"),
    ],
)
async def test_silence_beyond_the_models_time_is_a_timeout_and_ends_the_request(
    model: OpenAIChatModel, fault_model: FaultModel, behaviour: Behaviour, seconds: float, said: str
) -> None:
    fault_model.otherwise = behaviour
    text, error = await ask_until_error(model, ModelSettings(model="fault-1", timeout_seconds=seconds))
    assert isinstance(error, ModelTimeout)
    assert text == said
    await fault_model.wait_until(lambda server: server.hangups == len(server.requests) == 1)


async def test_errors_tell_users_nothing_of_the_provider_and_the_log_does_not_keep_the_key(
    model: OpenAIChatModel, fault_model: FaultModel, caplog: pytest.LogCaptureFixture
) -> None:
    fault_model.otherwise = fault.unauthorized()
    with caplog.at_level(logging.WARNING):
        _, error = await ask_until_error(model)
    assert error.__cause__ is None
    assert "provider" not in error.detail
    logged = [vars(record) for record in caplog.records if "model" in record.getMessage()]
    assert logged[0]["http_status"] == 401
    assert "internal.example" in logged[0]["text"]
    assert SECRET not in str(logged)


# Whoever stops listening ends the stream


async def test_cancelling_the_task_closes_the_stream(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.endless())
    started = asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(SETTINGS, HELLO, thread_files=FILES):
            started.set()

    task = asyncio.create_task(listen())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_cancelling_before_the_first_word_closes_the_request(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.silence())
    task = asyncio.create_task(ask(model))
    await fault_model.wait_until(lambda server: len(server.requests) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_closing_the_iterator_closes_the_stream(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.endless())
    async with aclosing(model.stream(SETTINGS, HELLO, thread_files=FILES)) as chunks:  # type: ignore[type-var]
        await anext(chunks)
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_a_stream_that_one_listener_leaves_does_not_disturb_the_others(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.endless())
    left = asyncio.create_task(ask(model))
    await fault_model.wait_until(lambda server: len(server.requests) == 1)
    others = asyncio.gather(*(ask(model, SETTINGS, Prompt(Role.USER, f"number {n}")) for n in range(20)))
    left.cancel()
    assert [text_of(chunks) for chunks in await others] == [f"number {n}" for n in range(20)]
