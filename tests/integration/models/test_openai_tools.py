"""Tools of the OpenAI adapter, against an endpoint that really misbehaves."""

from __future__ import annotations

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import ModelRefused, ModelUnavailable
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, Prompt, TextDelta, ToolCall
from tests import fault_model as fault
from tests.fault_model import FaultModel
from tests.integration.models.asking import ADD, FILES, HELLO, ONE_WORD, SETTINGS, ask, text_of


async def call_tools(
    model: OpenAIChatModel, *prompts: Prompt, chunks: list[ModelChunk] | None = None
) -> list[ModelChunk]:
    chunks = [] if chunks is None else chunks
    async for chunk in model.stream(SETTINGS, prompts or HELLO, thread_files=FILES, tools=(ADD,)):
        chunks.append(chunk)
    return chunks


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
    message, call, end = await call_tools(model)
    assert (message, call) == (TextDelta("So:"), ToolCall("call_0", "add", '{"x": 1}'))
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH


async def test_a_stream_that_breaks_in_a_call_is_tried_again_as_nothing_was_given_out(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.breaks_in_a_call(), fault.calls_tools(("add", {"x": 2})))
    assert (await call_tools(model))[0] == ToolCall("call_0", "add", '{"x": 2}')
    assert len(fault_model.requests) == 2


async def test_a_stream_that_breaks_in_a_call_after_text_gives_out_the_text_only(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.breaks_in_a_call(ONE_WORD))
    chunks: list[ModelChunk] = []
    with pytest.raises(ModelUnavailable):
        await call_tools(model, chunks=chunks)
    assert chunks == [TextDelta(ONE_WORD)]


async def test_an_endpoint_that_takes_no_tools_refuses(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.refuses_parameter("tools")
    with pytest.raises(ModelRefused):
        await call_tools(model)
    assert text_of(await ask(model)) == "Hello there."
    assert len(fault_model.requests) == 2
