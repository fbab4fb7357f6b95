"""Chat Completions of endpoints that answer differently from OpenAI's, without a socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from baton.domain.errors import ContentFiltered, ContextTooLong, ModelError, ModelRateLimited, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, Prompt, ReasoningDelta, ToolSpec
from tests.unit.adapters.models.chat_endpoint import Endpoint, Stream, ask, body, chunk, sse, text

ADD = ToolSpec("add", "Adds.", {"type": "object"})


async def test_an_answer_that_is_no_stream_is_read_all_the_same() -> None:
    whole = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
    chunks = await ask(Endpoint(lambda _: body(whole)))
    assert text(chunks) == "Whole."
    [end] = [item for item in chunks if isinstance(item, Finished)]
    assert (end.model, end.reason, end.usage is not None) == ("served-1", FinishReason.STOP, True)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: body({"error": "The number of tokens to keep is greater than the context length"}), ContextTooLong),
        (lambda: body({"error": {"message": "out of memory"}}), ModelUnavailable),
        (lambda: body(["nonsense"]), ModelUnavailable),
        (lambda: body({"error": {"message": "Context size has been exceeded.", "code": 500}}, 500), ContextTooLong),
    ],
)
async def test_an_error_with_status_200_or_as_text_is_known_by_its_words(
    answer: Callable[[], httpx2.Response], error: type[ModelError]
) -> None:
    with pytest.raises(error):
        await ask(Endpoint(lambda _: answer()))


async def test_a_stream_of_nothing_after_a_long_prompt_means_that_it_was_too_long() -> None:
    with pytest.raises(ContextTooLong):
        await ask(Endpoint(lambda _: sse()), [Prompt(Role.USER, "word " * 4_000)])
    with pytest.raises(ModelUnavailable):
        await ask(Endpoint(lambda _: sse()))


async def test_a_template_error_with_status_500_is_a_refusal() -> None:
    def answer(request: dict[str, Any]) -> httpx2.Response:
        if any(message["role"] == "system" for message in request["messages"][1:]):
            return body({"error": {"code": 500, "message": "System message must be at the beginning."}}, 500)
        return sse(chunk({"content": "Fine."}), chunk({}, "stop"))

    prompts = [Prompt(Role.SYSTEM, "Be kind."), Prompt(Role.SYSTEM, "Today."), Prompt(Role.USER, "Hi")]
    endpoint = Endpoint(answer)
    assert text(await ask(endpoint, prompts)) == "Fine."
    assert len(endpoint.bodies) == 2


async def test_an_outage_is_no_refusal() -> None:
    endpoint = Endpoint(lambda _: body({"error": {"message": "overloaded", "type": "server_error"}}, 500))
    with pytest.raises(ModelUnavailable):
        await ask(endpoint, temperature=0.2)
    assert [request.get("temperature") for request in endpoint.bodies] == [0.2, 0.2]


async def test_content_as_a_list_of_parts_is_joined_without_its_thinking() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    answer = sse(
        chunk({"content": [thinking]}),
        chunk({"content": [{"type": "text", "text": "The answer is "}]}),
        chunk({"content": [{"type": "text", "text": "forty-two."}]}),
        chunk({}, "stop"),
    )
    assert text(await ask(Endpoint(lambda _: answer))) == "The answer is forty-two."


async def test_an_endpoint_that_refuses_without_end_is_asked_a_bounded_number_of_times() -> None:
    def answer(request: dict[str, Any]) -> httpx2.Response:
        names = [name for name in request if name not in ("model", "messages", "stream")]
        return body({"error": {"message": f"Unsupported parameter: '{(names or ['x_y'])[0]}'"}}, 400)

    endpoint = Endpoint(answer)
    extra = {f"field_{number}": 1 for number in range(30)}
    with pytest.raises(ModelError):
        await ask(endpoint, extra=extra)
    assert len(endpoint.bodies) <= 10


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ("content_filter: PROHIBITED_CONTENT", ContentFiltered),
        ("safety", ContentFiltered),
        ("RECITATION", ContentFiltered),
        ("sensitive", ContentFiltered),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", ModelUnavailable),
        ("network_error", ModelUnavailable),
        ("insufficient_system_resource", ModelUnavailable),
        ("abort", ModelUnavailable),
    ],
)
async def test_an_ending_that_is_none_is_an_error(ending: str, error: type[ModelError]) -> None:
    with pytest.raises(error):
        await ask(Endpoint(lambda _: sse(chunk({"content": "Half"}), chunk({}, ending))))


@pytest.mark.parametrize(
    ("ending", "reason"),
    [("MAX_TOKENS", FinishReason.LENGTH), ("eos", FinishReason.STOP), ({"odd": 1}, FinishReason.STOP)],
)
async def test_endings_are_read_in_any_form(ending: Any, reason: FinishReason) -> None:
    chunks = await ask(Endpoint(lambda _: sse(chunk({"content": "Fine."}), chunk({}, ending))))
    assert [item.reason for item in chunks if isinstance(item, Finished)] == [reason]


@pytest.mark.parametrize("content", [["Fi", "ne."], {"type": "text", "text": "Fine."}, [{"text": "Fine."}]])
async def test_content_is_read_in_any_form(content: Any) -> None:
    assert text(await ask(Endpoint(lambda _: sse(chunk({"content": content}, "stop"))))) == "Fine."


async def test_a_whole_answer_may_come_as_one_event() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}
    assert text(await ask(Endpoint(lambda _: sse({"id": "c", "model": "m", "choices": [choice]})))) == "Fine."


async def test_json_that_is_nested_too_deeply_is_a_failure_of_the_model() -> None:
    nested = "[" * 9_000 + "]" * 9_000
    event = f'data: {{"id": "c", "x": {nested}, "choices": []}}\n\n'.encode()

    def answer(_: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(event))

    with pytest.raises(ModelUnavailable):
        await ask(Endpoint(answer))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud83d"])
async def test_parts_that_no_request_can_hold_are_not_kept(value: Any) -> None:
    call = {
        "index": 0,
        "id": "c1",
        "function": {"name": "add", "arguments": "{}"},
        "extra_content": {"signature": value},
    }
    chunks = await ask(Endpoint(lambda _: sse(chunk({"tool_calls": [call]}), chunk({}, "tool_calls"))))
    assert [item.provider_parts for item in chunks if isinstance(item, Finished)] == [None]


async def test_halves_of_characters_in_the_prompt_are_mended() -> None:
    endpoint = Endpoint(lambda _: sse(chunk({"content": "Fine."}, "stop")))
    prompts = [
        Prompt(Role.USER, "\ud83d"),
        Prompt(Role.ASSISTANT, "\ud83d", tool_calls=(ToolCall("c1", "add", '{"a": "\ud83d"}'),)),
        Prompt(Role.TOOL, "\ud83d", tool_call_id="c1"),
    ]
    assert text(await ask(endpoint, prompts, tools=(ADD,))) == "Fine."
    sent = endpoint.bodies[0]["messages"]
    assert [message["content"] for message in sent] == ["\ufffd"] * 3
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"a": "\ufffd"}'


async def test_a_connection_that_breaks_is_an_outage() -> None:
    class Broken(Stream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self._body
            raise httpx2.ReadError("reset")

    def answer(_: dict[str, Any]) -> httpx2.Response:
        body = f"data: {json.dumps(chunk({'content': 'Half'}))}\n\n".encode()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Broken(body))

    with pytest.raises(ModelUnavailable):
        await ask(Endpoint(answer))


async def test_the_length_of_a_broken_answer_does_not_end_the_attempts_after_the_next_one() -> None:
    class Broken(Stream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self._body
            raise httpx2.ReadError("reset")

    thought = f"data: {json.dumps(chunk({'reasoning_content': 'x' * 100_000}))}\n\n".encode()
    page = httpx2.Response(200, headers={"content-type": "text/html"}, stream=Stream(b"<html>"))
    broken = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Broken(thought))
    played = iter([broken, page, sse(chunk({"content": "Fine."}), chunk({}, "stop"))])
    assert text(await ask(Endpoint(lambda _: next(played)), max_retries=2)) == "Fine."


async def test_an_answer_of_nothing_to_a_prompt_that_was_read_is_empty_and_not_too_long() -> None:
    counts = {"prompt_tokens": 4_000, "completion_tokens": 0, "total_tokens": 4_000}
    endpoint = Endpoint(lambda _: sse(chunk({}, "stop"), {**chunk({}), "choices": [], "usage": counts}))
    chunks = await ask(endpoint, [Prompt(Role.USER, "word " * 4_000)])
    assert [type(item) for item in chunks] == [Finished]


async def test_an_answer_that_fills_the_context_is_cut() -> None:
    error = {"error": {"message": "Context size has been exceeded.", "type": "server_error"}}
    endpoint = Endpoint(lambda _: sse(chunk({"content": "Half of it"}), error))
    chunks = await ask(endpoint)
    assert text(chunks) == "Half of it"
    assert [item.reason for item in chunks if isinstance(item, Finished)] == [FinishReason.LENGTH]
    assert len(endpoint.bodies) == 1


async def test_a_model_that_calls_tools_where_none_may_be_called_gets_none_to_see() -> None:
    def answer(request: dict[str, Any]) -> httpx2.Response:
        roles = [message["role"] for message in request["messages"]]
        if any(pair == ("user", "user") for pair in pairwise(roles)):
            return body({"error": {"message": "Conversation roles must alternate user/assistant/..."}}, 400)
        if "tools" in request:
            call = {"index": 0, "id": "c9", "function": {"name": "add", "arguments": "{}"}}
            return sse(chunk({"tool_calls": [call]}), chunk({}, "tool_calls"))
        return sse(chunk({"content": "It is 3."}), chunk({}, "stop"))

    prompts = [
        Prompt(Role.USER, "What is 1 + 2?"),
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("c1", "add", "{}"), ToolCall("c2", "add", "{}"))),
        Prompt(Role.TOOL, "3", tool_call_id="c1"),
        Prompt(Role.TOOL, "3", tool_call_id="c2"),
        Prompt(Role.SYSTEM, "Answer now."),
    ]
    endpoint = Endpoint(answer)
    assert text(await ask(endpoint, prompts, tool_choice="none", tools=(ADD,))) == "It is 3."
    sent = endpoint.bodies[-1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert "[Result of add: 3]" in sent[2]["content"]
    assert "Answer now." in sent[2]["content"]


@pytest.mark.parametrize(
    "choices",
    [
        [{"index": 1, "delta": {"content": "No."}}, {"index": 0, "delta": {"content": "Yes."}}],
        {"index": 0, "delta": {"content": "Yes."}},
        [None, {"index": "0", "delta": {"content": "Yes."}}],
        [{"index": 0, "text": "Yes."}],
        [{"delta": {"content": [{"type": "text", "text": {"value": "Yes."}}]}}],
        [{"delta": {"content": [{"type": "text_delta", "text": "Yes."}]}}],
    ],
)
async def test_the_first_choice_is_read_in_any_form(choices: Any) -> None:
    assert text(await ask(Endpoint(lambda _: sse({"choices": choices}, chunk({}, "stop"))))) == "Yes."


@pytest.mark.parametrize("choices", [5, {"a": 1}, [None], "text", []])
async def test_a_whole_answer_without_choices_is_an_outage(choices: Any) -> None:
    with pytest.raises(ModelUnavailable):
        await ask(Endpoint(lambda _: body({"object": "chat.completion", "choices": choices})))


async def test_a_reason_that_says_none_is_none() -> None:
    with pytest.raises(ModelUnavailable):
        await ask(Endpoint(lambda _: sse(chunk({"content": "Half"}, "null"))))


async def test_a_part_that_refuses_is_a_filtered_answer() -> None:
    with pytest.raises(ContentFiltered):
        await ask(Endpoint(lambda _: sse(chunk({"content": [{"type": "refusal", "refusal": "No."}]}, "stop"))))


@pytest.mark.parametrize("counts", [("3", "2"), (3.0, 2.0), (3, 2)])
async def test_tokens_are_counted_whatever_kind_of_number_they_are(counts: tuple[Any, Any]) -> None:
    usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1]}
    chunks = await ask(Endpoint(lambda _: sse(*[chunk({"content": "Hi."}, "stop"), {"choices": [], "usage": usage}])))
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.input_tokens, chunks[-1].usage.output_tokens) == (3, 2)


@pytest.mark.parametrize("counts", [("three", "2"), (-1, 2), (10**30, 2), ("9" * 5_000, "2"), (True, 2), (0.5, 2)])
async def test_what_is_no_number_of_tokens_is_none(counts: tuple[Any, Any]) -> None:
    usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1]}
    chunks = await ask(Endpoint(lambda _: sse(chunk({"content": "Hi."}, "stop"), {"choices": [], "usage": usage})))
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].usage is None


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_text": "Hm."},
        {"thinking": "Hm."},
        {"reasoning": {"content": "Hm."}},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
        {"reasoning_content": "Hm.", "reasoning": "Hm."},
    ],
)
async def test_thinking_is_shown_under_any_of_its_names(delta: dict[str, Any]) -> None:
    chunks = await ask(Endpoint(lambda _: sse(chunk(delta), chunk({"content": "So."}, "stop"))), shows_reasoning=True)
    assert [item.text for item in chunks if isinstance(item, ReasoningDelta)] == ["Hm."]


CALL = {"name": "add", "arguments": '{"x": 1}'}


@pytest.mark.parametrize(
    "deltas",
    [
        [{"function_call": {"name": "add", "arguments": ""}}, {"function_call": {"arguments": '{"x": 1}'}}],
        [{"tool_calls": {"index": 0, "id": "c1", "function": CALL}}],
        [{"tool_calls": [{"index": 0, "function": {**CALL, "arguments": json.dumps(CALL["arguments"])}}]}],
        [
            {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "a", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"name": "dd", "arguments": '{"x": 1}'}}]},
        ],
    ],
)
async def test_a_call_is_read_in_any_form(deltas: list[dict[str, Any]]) -> None:
    chunks = await ask(Endpoint(lambda _: sse(*map(chunk, deltas), chunk({}, "stop"))), tools=(ADD,))
    [call] = [item for item in chunks if isinstance(item, ToolCall)]
    assert (call.name, json.loads(call.arguments)) == ("add", {"x": 1})


@pytest.mark.parametrize(
    ("headers", "message", "requests"),
    [
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -1400"}, "", 2),
        ({"retry-after": "soon"}, "", 2),
        ({"retry-after": "-1"}, "", 2),
        ({"retry-after": "1e999"}, "", 2),
        ({}, "Please try again in 1h2m3s.", 1),
        ({}, f"Try again in {'9' * 400}m1s.", 1),
    ],
)
async def test_a_wait_in_any_words_is_a_rate_limit(headers: dict[str, str], message: str, requests: int) -> None:
    error = {"error": {"message": message or "Slow down.", "code": "rate_limit_exceeded"}}
    endpoint = Endpoint(lambda _: httpx2.Response(429, headers=headers, json=error))
    with pytest.raises(ModelRateLimited):
        await ask(endpoint)
    assert len(endpoint.bodies) == requests
