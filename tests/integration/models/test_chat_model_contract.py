"""The contract of every chat model, the product's and the fake alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import pytest

from baton.domain.errors import ModelError, ModelRateLimited, ModelUnavailable
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    ChatModel,
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
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import FaultModel

SETTINGS = ModelSettings(model="fault-1", timeout_seconds=30)
QUESTION = (Prompt(Role.SYSTEM, "Be kind."), Prompt(Role.USER, "Hello"))
END = ToolSpec("end_conversation", "Ends it.", {"type": "object", "properties": {"reason": {"type": "string"}}})


class Harness(Protocol):
    """A chat model, and the means to direct it."""

    @property
    def model(self) -> ChatModel: ...

    def will_answer(self, *words: str) -> None: ...

    def will_call(self, *calls: tuple[str, str], text: str = "") -> None: ...

    def will_break_after(self, *words: str) -> None: ...

    def will_be_rate_limited(self) -> None: ...

    def will_hang_after(self, *words: str) -> None: ...

    async def saw_listener_leave(self) -> bool: ...

    def list_prompts(self) -> list[list[tuple[str, object]]]: ...

    def list_offered_tools(self) -> list[list[str]]: ...


@dataclass
class FakeHarness:
    model: ScriptedChatModel

    def will_answer(self, *words: str) -> None:
        self.model.script(Answer(words))

    def will_call(self, *calls: tuple[str, str], text: str = "") -> None:
        instance = (ToolCall(f"call_{index}", name, arguments) for index, (name, arguments) in enumerate(calls))
        self.model.script(Answer.calling(*instance, text=text))

    def will_break_after(self, *words: str) -> None:
        self.model.script(Answer(words, ModelUnavailable()))

    def will_be_rate_limited(self) -> None:
        self.model.script(ModelRateLimited())

    def will_hang_after(self, *words: str) -> None:
        self.model.script(Answer(words, gate=asyncio.Event(), gate_at=len(words)))

    async def saw_listener_leave(self) -> bool:
        return self.model.abandoned == 1

    def list_prompts(self) -> list[list[tuple[str, object]]]:
        return [list(request.contents) for request in self.model.requests]

    def list_offered_tools(self) -> list[list[str]]:
        return [[tool.name for tool in request.tools] for request in self.model.requests]


@dataclass
class OpenAIHarness:
    model: ChatModel
    server: FaultModel

    def will_answer(self, *words: str) -> None:
        self.server.script(fault.answers("".join(words)))

    def will_call(self, *calls: tuple[str, str], text: str = "") -> None:
        self.server.script(fault.calls_tools(*calls, text=text))

    def will_break_after(self, *words: str) -> None:
        self.server.otherwise = fault.breaks_after(*words)

    def will_be_rate_limited(self) -> None:
        self.server.otherwise = fault.rate_limited()

    def will_hang_after(self, *words: str) -> None:
        self.server.script(fault.hangs_after(*words))

    async def saw_listener_leave(self) -> bool:
        await self.server.wait_until(lambda server: server.hangups == 1)
        return True

    def list_prompts(self) -> list[list[tuple[str, object]]]:
        return [list(received.prompts) for received in self.server.requests]

    def list_offered_tools(self) -> list[list[str]]:
        return [[tool["name"] for tool in received.tools] for received in self.server.requests]


@pytest.fixture(params=["fake", "openai"])
def harness(request: pytest.FixtureRequest, fault_model: FaultModel, make_model: Callable[..., ChatModel]) -> Harness:
    if request.param == "fake":
        return FakeHarness(ScriptedChatModel())
    return OpenAIHarness(make_model(), fault_model)


async def listen(harness: Harness, notifications: list[ModelChunk] | None = None) -> list[ModelChunk]:
    notifications = [] if notifications is None else notifications
    async for chunk in harness.model.stream(SETTINGS, QUESTION, thread_files=MemoryThreadFiles()):
        notifications.append(chunk)
    return notifications


async def test_an_answer_is_text_and_then_its_end(harness: Harness) -> None:
    harness.will_answer("One ", "two.")
    *pieces, end = await listen(harness)
    assert pieces == [TextDelta("One "), TextDelta("two.")]
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.STOP
    assert end.model == "fault-1"
    assert end.usage is not None


async def test_the_model_is_asked_with_all_prompts_in_order(harness: Harness) -> None:
    harness.will_answer("Yes.")
    await listen(harness)
    assert harness.list_prompts() == [[("system", "Be kind."), ("user", "Hello")]]


async def test_tool_calls_come_whole_and_in_order_between_the_text_and_the_end(harness: Harness) -> None:
    harness.will_call(("add", '{"x": [1, 2]}'), ("end_conversation", "{}"), text="One moment.")
    received = await listen(harness)
    assert "".join(chunk.text for chunk in received if isinstance(chunk, TextDelta)) == "One moment."
    *calls, end = received[-3:]
    assert calls == [ToolCall("call_0", "add", '{"x": [1, 2]}'), ToolCall("call_1", "end_conversation", "{}")]
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.TOOL_CALLS


async def test_a_tool_call_needs_no_text_and_may_be_nonsense(harness: Harness) -> None:
    harness.will_call(("no_such_tool", '{"x": '))
    [call, _] = await listen(harness)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments.strip()) == ("no_such_tool", '{"x":')


async def test_tools_are_offered_only_when_they_are_given(harness: Harness) -> None:
    harness.will_answer("Yes.")
    harness.will_answer("Yes.")
    await listen(harness)
    async for _ in harness.model.stream(SETTINGS, QUESTION, thread_files=MemoryThreadFiles(), tools=(END,)):
        pass
    assert harness.list_offered_tools() == [[], ["end_conversation"]]


async def test_a_failure_in_the_middle_keeps_what_was_said(harness: Harness) -> None:
    harness.will_break_after("One ", "two ")
    chunks: list[ModelChunk] = []
    with pytest.raises(ModelUnavailable):
        await listen(harness, chunks)
    assert chunks == [TextDelta("One "), TextDelta("two ")]


async def test_a_failure_before_the_first_word_is_a_model_error(harness: Harness) -> None:
    harness.will_be_rate_limited()
    with pytest.raises(ModelError) as caught:
        await listen(harness)
    assert caught.value.code == "model_rate_limited"


async def test_cancelling_ends_the_answer(harness: Harness) -> None:
    harness.will_hang_after("One ")
    is_heard = asyncio.Event()

    async def subscriber() -> None:
        async for _ in harness.model.stream(SETTINGS, QUESTION, thread_files=MemoryThreadFiles()):
            is_heard.set()

    task = asyncio.create_task(subscriber())
    await is_heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await harness.saw_listener_leave()


async def test_closing_the_iterator_ends_the_answer(harness: Harness) -> None:
    harness.will_hang_after("One ")
    chunks = harness.model.stream(SETTINGS, QUESTION, thread_files=MemoryThreadFiles())
    async with aclosing(chunks):  # type: ignore[type-var]
        assert await anext(chunks) == TextDelta("One ")
    assert await harness.saw_listener_leave()
