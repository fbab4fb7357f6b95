"""Streams of the Responses API become chunks, errors and usage."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from baton.domain.errors import ContentFiltered, ContextTooLong, ModelError, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    Finished,
    FinishReason,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
)
from tests.fakes.thread_files import MemoryThreadFiles
from tests.unit.adapters.models.responses_endpoint import (
    ADD,
    HELLO,
    USAGE,
    Endpoint,
    Event,
    Whole,
    answers,
    ask,
    call,
    calls_of,
    end_of,
    make_end,
    message,
    reasoning,
    settings,
    stream_items,
    text_of,
    thinking_of,
)


async def read_chunks(*events: Event, **fields: Any) -> list[Any]:
    """Return what the product yields of these events."""
    return await ask(Endpoint(list(events)).model(), tools=[ADD], **fields)


async def test_text_streams_in_pieces_and_ends_with_the_usage_and_the_model_that_answered() -> None:
    chunks = await read_chunks(*answers(message("One two three.")))
    assert chunks == [
        TextDelta("One two"),
        TextDelta(" three."),
        Finished(FinishReason.STOP, "gpt-6-sol-2026-09-01", Usage(100, 50, 60, 30, 40)),
    ]


async def test_cached_tokens_are_counted_once() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 99}}
    assert end_of(await read_chunks(*answers(message("Hi."), usage=usage))).usage == Usage(10, 2, 10)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": "many", "output_tokens": 2}])
async def test_an_answer_without_usage_has_none(usage: Any) -> None:
    assert end_of(await read_chunks(*answers(message("Hi."), usage=usage))).usage is None


async def test_parallel_calls_come_whole_and_in_order() -> None:
    items = [call("add", f'{{"x": {n}}}', item_id=f"fc_{n}", call_id=f"call_{n}") for n in range(3)]
    chunks = await read_chunks(*answers(*items))
    assert calls_of(chunks) == [ToolCall(f"call_{n}", "add", f'{{"x": {n}}}') for n in range(3)]
    assert end_of(chunks).reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
async def test_a_call_without_arguments_has_an_empty_object(arguments: str) -> None:
    [tool_call] = calls_of(await read_chunks(*answers(call("add", arguments))))
    assert tool_call.arguments == "{}"


async def test_calls_with_the_same_id_get_ids_of_their_own() -> None:
    items = [call("add", f'{{"x": {n}}}', item_id=f"fc_{n}", call_id="call_0") for n in range(2)]
    first, second = calls_of(await read_chunks(*answers(*items)))
    assert first.id == "call_0"
    assert second.id != first.id
    assert (first.arguments, second.arguments) == ('{"x": 0}', '{"x": 1}')


async def test_no_call_is_yielded_where_none_may_be_made() -> None:
    chunks = await read_chunks(*answers(message("Done."), call("add", "{}")), tool_choice="none")
    assert calls_of(chunks) == []
    assert end_of(chunks).reason is FinishReason.STOP


async def test_a_model_that_calls_instead_of_answering_is_asked_without_tools() -> None:
    endpoint = Endpoint(answers(call("add", "{}")), answers(message("Done.")))
    chunks = await ask(endpoint.model(), tools=[ADD], tool_choice="none")
    assert text_of(chunks) == "Done."
    assert "tools" not in endpoint.bodies[-1]


async def test_a_question_without_tools_has_earlier_calls_as_text() -> None:
    earlier = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("call_1", "add", "{}"),))
    endpoint = Endpoint(answers(call("add", "{}")), answers(message("Done.")))
    prompts = [*HELLO, earlier, Prompt(Role.TOOL, "3", tool_call_id="call_1")]
    await ask(endpoint.model(), prompts, tools=[ADD], tool_choice="none")
    assert [item["type"] for item in endpoint.bodies[-1]["input"]] == ["message"] * 3


async def test_thinking_is_shown_only_if_it_is_asked_for() -> None:
    events = answers(reasoning("secret", summary=["Add them.", "Check it."]), message("2"))
    assert thinking_of(await read_chunks(*events, shows_reasoning=True)) == "Add them.\n\nCheck it."
    assert not any(isinstance(chunk, ReasoningDelta) for chunk in await read_chunks(*events))


async def test_thinking_of_open_models_is_shown_in_its_own_words() -> None:
    words = {"type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0, "delta": "Hm."}
    chunks = await read_chunks(words, *answers(message("2")), shows_reasoning=True)
    assert thinking_of(chunks) == "Hm."


async def test_tags_in_the_text_are_thinking() -> None:
    chunks = await read_chunks(*answers(message("<think>Hm, two.</think>\nIt is 2.")), shows_reasoning=True)
    assert (thinking_of(chunks), text_of(chunks)) == ("Hm, two.", "It is 2.")


async def test_text_that_was_thinking_is_taken_back_and_does_not_go_back() -> None:
    chunks = await read_chunks(*answers(reasoning("secret"), message("Hm, two.\n</think>\nIt is 2.")))
    assert TextTakenBack() in chunks
    assert text_of(chunks) == "It is 2."
    parts = end_of(chunks).provider_parts
    assert parts is not None
    assert parts.parts[1]["text"] == len("It is 2.")


async def test_reasoning_is_taken_from_the_complete_item_only() -> None:
    whole = reasoning("complete")
    events = stream_items(whole, message("2"))
    lying = make_end(whole | {"encrypted_content": "other"}, message("2"))
    parts = end_of(await read_chunks(*events, lying)).provider_parts
    assert parts is not None
    assert parts.parts[0] == {"item": whole}


# How answers end


@pytest.mark.parametrize("reason", ["max_output_tokens", "max_messages", "something_new"])
async def test_an_answer_that_is_not_complete_is_cut(reason: str) -> None:
    cut = make_end(status="incomplete", incomplete_details={"reason": reason})
    chunks = await read_chunks(*stream_items(message("One two")), cut)
    assert (text_of(chunks), end_of(chunks).reason) == ("One two", FinishReason.LENGTH)


async def test_a_cut_answer_keeps_whole_calls_only_and_sends_no_reasoning_back() -> None:
    whole = stream_items(reasoning("secret"), call("add", '{"x": 1}'))
    tasks = [
        {"type": "response.output_item.added", "output_index": 2, "item": call("add", "", item_id="fc_2")},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "fc_2", "delta": '{"x": 12'},
    ]
    chunks = await read_chunks(
        *whole, *tasks, make_end(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert calls_of(chunks) == [ToolCall("call_1", "add", '{"x": 1}')]
    assert (end_of(chunks).reason, end_of(chunks).provider_parts) == (FinishReason.LENGTH, None)


async def test_thinking_that_used_up_all_tokens_is_a_cut_answer_and_no_overflow() -> None:
    cut = make_end(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    chunks = await ask(
        Endpoint([*stream_items(reasoning("secret")), cut]).model(), [Prompt(Role.USER, "word " * 2_000)]
    )
    assert end_of(chunks).reason is FinishReason.LENGTH


async def test_an_answer_of_nothing_to_a_long_prompt_is_an_overflow() -> None:
    endpoint = Endpoint(answers())
    with pytest.raises(ContextTooLong):
        await ask(endpoint.model(), [Prompt(Role.USER, "word " * 2_000)])


REFUSALS = [
    [{"type": "response.refusal.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "I"}],
    [{"type": "response.output_item.done", "item": {"type": "message", "content": [{"type": "refusal"}]}}],
    [make_end(status="incomplete", incomplete_details={"reason": "content_filter"})],
    [make_end(status="failed", error={"code": "bio_policy", "message": "No."})],
    [make_end(status="failed", error={"code": "misalignment_policy_violation", "message": "No."})],
    [make_end(status="failed", error={"code": "image_content_policy_violation", "message": "No."})],
]


@pytest.mark.parametrize("events", REFUSALS)
async def test_refusals_and_filters_are_reported_as_such_and_not_repeated(events: list[Event]) -> None:
    endpoint = Endpoint([*stream_items(message("Well, ")), *events])
    with pytest.raises(ContentFiltered):
        await ask(endpoint.model())
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("events", [stream_items(message("Half ")), stream_items(call("add", "{}"))])
async def test_an_answer_without_its_end_is_no_answer(events: list[Event]) -> None:
    with pytest.raises(ModelUnavailable):
        await read_chunks(*events)


@pytest.mark.parametrize("event", [["no object"], "text", 7])
async def test_events_that_are_no_objects_are_no_answer(event: Any) -> None:
    with pytest.raises(ModelError):
        await read_chunks(event)


async def test_what_is_not_known_is_left_out() -> None:
    unknown = [
        {"type": "response.steer.accepted"},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "web_search_call", "id": "ws_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": None},
        {"type": "response.output_text.delta", "item_id": "msg_1", "delta": None},
        {"no": "type"},
    ]
    assert text_of(await read_chunks(*unknown, *answers(message("Hi.")))) == "Hi."


# Servers that leave things out


def without(events: list[Event], *names: str, kinds: tuple[str, ...] = ()) -> list[Event]:
    """Return events without these fields, also of their items, and without those of these kinds."""
    stored = [event for event in events if not event["type"].endswith(kinds or ("\0",))]
    for event in stored:
        if isinstance(event.get("item"), dict):
            event["item"] = {name: value for name, value in event["item"].items() if name not in names}
    return [{name: value for name, value in event.items() if name not in names} for event in stored]


GAPS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("item_id",), ()),
    (("output_index",), ()),
    (("item_id", "output_index", "id"), ()),
    (("item_id", "output_index", "id", "sequence_number"), ("text.done", "arguments.done")),
    ((), ("output_item.added",)),
    ((), ("output_item.done", "text.done")),
    ((), (".delta",)),
    ((), ("output_item.added", ".delta", "text.done", "arguments.done")),
    ((), ("output_item.added", "output_item.done", ".delta", ".done")),
]


@pytest.mark.parametrize(("names", "kinds"), GAPS)
async def test_streams_with_gaps_are_read_alike(names: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    items = (
        message("One two three."),
        call("add", '{"x": 1}'),
        call("add", '{"x": 22}', item_id="fc_2", call_id="call_2"),
    )
    chunks = await read_chunks(*without(answers(*items), *names, kinds=kinds))
    assert text_of(chunks) == "One two three."
    assert calls_of(chunks) == [ToolCall("call_1", "add", '{"x": 1}'), ToolCall("call_2", "add", '{"x": 22}')]
    assert end_of(chunks).reason is FinishReason.TOOL_CALLS


async def test_items_under_one_index_are_distinguished_by_their_ids() -> None:
    events = answers(message("Hi."), call("add", '{"x": 1}'), call("add", '{"x": 2}', item_id="fc_2", call_id="call_2"))
    chunks = await read_chunks(*[event | ({"output_index": 0} if "output_index" in event else {}) for event in events])
    assert text_of(chunks) == "Hi."
    assert [tool_call.arguments for tool_call in calls_of(chunks)] == ['{"x": 1}', '{"x": 2}']


async def test_arguments_as_an_object_are_taken() -> None:
    event = {"type": "response.output_item.done", "output_index": 0, "item": call("add", "") | {"arguments": {"x": 1}}}
    [tool_call] = calls_of(await read_chunks(event, make_end()))
    assert tool_call.parse_arguments() == {"x": 1}


async def test_an_answer_that_is_no_stream_is_read_whole() -> None:
    body = make_end(reasoning("secret"), message("One two."), call("add", '{"x": 1}'), usage=USAGE)["response"]
    chunks = await ask(Endpoint(Whole(body)).model(), tools=[ADD])
    assert text_of(chunks) == "One two."
    assert calls_of(chunks) == [ToolCall("call_1", "add", '{"x": 1}')]
    assert end_of(chunks).usage == Usage(100, 50, 60, 30, 40)


@pytest.mark.parametrize("body", [{"error": {"code": "server_error", "message": "No."}}, {"object": "list"}])
async def test_a_failure_that_is_no_stream_is_reported_as_such(body: Any) -> None:
    endpoint = Endpoint(Whole(body))
    with pytest.raises(ModelUnavailable):
        await ask(endpoint.model(max_retries=1))
    assert len(endpoint.requests) == 2


# Limits


async def test_text_is_cut_at_the_limit_of_an_answer() -> None:
    piece = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": "x" * 100_000}
    chunks = await read_chunks(*[piece] * 20, make_end())
    assert len(text_of(chunks)) == MAX_ANSWER_BYTES
    assert end_of(chunks).reason is FinishReason.LENGTH


async def test_ten_thousand_fragments_of_a_call_are_one_call() -> None:
    started = {"type": "response.output_item.added", "output_index": 0, "item": call("add", "")}
    fragment = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": " "}
    whole = {"type": "response.output_item.done", "output_index": 0, "item": call("add", '{"x": 1}')}
    chunks = await read_chunks(started, *[fragment] * 10_000, whole, make_end())
    assert calls_of(chunks) == [ToolCall("call_1", "add", '{"x": 1}')]


async def test_more_calls_than_an_answer_may_have_end_it() -> None:
    items = [call("add", "{}", item_id=f"fc_{n}", call_id=f"call_{n}") for n in range(1_200)]
    events = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
    chunks = await read_chunks(*events, make_end())
    assert len(calls_of(chunks)) == 1_000
    assert end_of(chunks).reason is FinishReason.LENGTH


async def test_events_that_repeat_many_tools_are_read() -> None:
    schema = {"properties": {f"p{n}": {"type": "string", "enum": [str(m) for m in range(20)]} for n in range(8)}}
    tools = [{"type": "function", "name": f"t{n}", "parameters": schema} for n in range(128)]
    created = {"type": "response.created", "response": {"tools": tools}}
    assert text_of(await read_chunks(created, *answers(message("Hi.")))) == "Hi."


# Leaving


@pytest.mark.parametrize("items", [(message("One two three."),), (reasoning("secret", summary=["Hm."]),)])
async def test_the_connection_is_closed_as_soon_as_the_reader_leaves(items: tuple[dict[str, Any], ...]) -> None:
    endpoint = Endpoint(stream_items(*items), stays=True)
    stream = endpoint.model().stream(settings(shows_reasoning=True), HELLO, thread_files=MemoryThreadFiles())
    async with aclosing(stream) as chunks:
        await anext(chunks)
        assert not endpoint.streams[0].is_closed
    assert endpoint.streams[0].is_closed


async def test_the_connection_is_closed_if_the_reader_leaves_before_the_first_word() -> None:
    endpoint = Endpoint(stream_items(call("add", "{}")), stays=True)
    task = asyncio.create_task(ask(endpoint.model()))
    await endpoint.is_waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert endpoint.streams[0].is_closed


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "response.failed", "response": {"error": "Out of memory."}}, "Out of memory."),
        ({"type": "response.failed", "response": {"error": None}}, "The response is failed."),
        ({"type": "response.cancelled", "response": {"status": "cancelled"}}, "The response is cancelled."),
    ],
)
async def test_operators_learn_why_a_response_has_failed(event: Event, reason: str) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        await read_chunks(event)
    assert failed.value.reason == reason


async def test_text_that_comes_at_its_end_only_is_read() -> None:
    done = {"type": "response.output_text.done", "output_index": 0, "text": "Hi."}
    assert text_of(await read_chunks(done, make_end())) == "Hi."


async def test_the_name_of_a_call_may_come_with_its_arguments() -> None:
    done = {"type": "response.function_call_arguments.done", "item_id": "fc_1", "name": "add", "arguments": "{}"}
    assert [item.name for item in calls_of(await read_chunks(done, make_end()))] == ["add"]
