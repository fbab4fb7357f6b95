"""The OpenAI adapter against endpoints that never come to an end: what is taken of them is bounded, and kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, Finished, FinishReason
from tests import fault_model as fault
from tests.fault_model import FaultModel, Flood
from tests.integration.models.asking import SETTINGS, ask, ask_until_error, text_of

SOCKETS = 16 * 1024 * 1024
"""Bytes that buffers on the way may hold besides what was read."""


async def test_an_answer_without_end_is_cut_and_kept(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    flood = fault.text_flood()
    fault_model.script(flood)
    *pieces, end = await ask(model)
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH
    assert len(text_of(list(pieces)).encode()) == MAX_ANSWER_BYTES
    assert await flood.wait_for_hangup()
    assert flood.sent < MAX_ANSWER_BYTES + SOCKETS


async def test_an_answer_is_cut_between_characters(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.text_flood("a" + "😀" * 10_000))
    *pieces, _ = await ask(model)
    text = text_of(list(pieces))
    assert MAX_ANSWER_BYTES - 4 < len(text.encode()) <= MAX_ANSWER_BYTES
    assert text.endswith("😀")


@pytest.mark.parametrize("repeats_name", [False, True])
async def test_arguments_without_end_make_no_call(
    model: OpenAIChatModel, fault_model: FaultModel, repeats_name: bool
) -> None:
    flood = fault.arguments_flood(repeats_name=repeats_name)
    fault_model.script(flood)
    chunks = await ask(model)
    assert [type(chunk) for chunk in chunks] == [Finished]
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].reason is FinishReason.LENGTH
    assert await flood.wait_for_hangup()
    assert flood.sent < MAX_ANSWER_BYTES + SOCKETS


async def test_calls_without_end_are_cut(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    flood = fault.calls_flood()
    fault_model.script(flood)
    *calls, end = await ask(model)
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH
    assert 0 < len(calls) <= 1000
    assert all(isinstance(call, ToolCall) and json.loads(call.arguments) == {} for call in calls)
    assert await flood.wait_for_hangup()
    assert flood.sent < SOCKETS


async def test_thoughts_without_end_are_cut(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    flood = fault.reasoning_flood()
    fault_model.script(flood)
    [end] = await ask(model)
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH
    assert await flood.wait_for_hangup()
    assert flood.sent < MAX_ANSWER_BYTES + SOCKETS


async def test_what_was_said_before_an_endless_event_is_kept(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    flood = fault.line_flood(first="Half an answer")
    fault_model.script(flood)
    *pieces, end = await ask(model)
    assert text_of(list(pieces)) == "Half an answer"
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH
    assert await flood.wait_for_hangup()
    assert flood.sent < SOCKETS


@pytest.mark.parametrize(
    ("flood", "error"),
    [
        pytest.param(fault.line_flood, ModelUnavailable, id="an event without end"),
        pytest.param(fault.newline_flood, ModelUnavailable, id="empty lines"),
        pytest.param(fault.brackets_flood, ModelUnavailable, id="an event of a hundred thousand values"),
        pytest.param(fault.compressed_flood, ModelUnavailable, id="compressed"),
        pytest.param(fault.error_flood, ModelRefused, id="a refusal without end"),
        pytest.param(lambda: fault.error_flood(503), ModelUnavailable, id="an outage without end"),
    ],
)
async def test_an_endpoint_that_sends_no_answer_but_no_end_either_fails(
    model: OpenAIChatModel, fault_model: FaultModel, flood: Callable[[], Flood], error: type[ModelError]
) -> None:
    floods = [flood() for _ in range(3)]
    fault_model.script(*floods)
    text, reported = await ask_until_error(model)
    assert (text, type(reported)) == ("", error)
    assert all(flood.sent < fault.HUNDRED_MEGABYTES for flood in floods)
    assert await floods[0].wait_for_hangup()


async def test_chunks_that_say_nothing_are_silence(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.empty_flood())
    text, reported = await ask_until_error(model, dataclasses.replace(SETTINGS, timeout_seconds=0.2))
    assert (text, type(reported)) == ("", ModelTimeout)
