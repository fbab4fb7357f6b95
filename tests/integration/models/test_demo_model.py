"""The product's own adapter talks to the demo model over real HTTP."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator

import pytest
from ag_ui.core import DataSource, DocumentPart, TextPart

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, ModelSettings, Prompt, TextDelta, ToolSpec
from baton_local.demo_model.app import create_app
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import ThreadedServer

SETTINGS = ModelSettings(model="baton-demo", timeout_seconds=30)


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    server = ThreadedServer(create_app({"BATON_DEMO_DELAY_MS": "0"}))
    yield f"http://127.0.0.1:{server.start()}"
    server.stop()


async def ask(model: OpenAIChatModel, *prompts: Prompt) -> tuple[str, Finished]:
    *pieces, end = [chunk async for chunk in model.stream(SETTINGS, prompts, thread_files=MemoryThreadFiles())]
    assert isinstance(end, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), end


async def test_it_remembers_across_a_conversation(make_model: Callable[..., OpenAIChatModel], demo_url: str) -> None:
    model = make_model(base_url=demo_url)
    reported = Prompt(Role.USER, "My name is Ada.")
    hello, _ = await ask(model, reported)
    text, end = await ask(model, reported, Prompt(Role.ASSISTANT, hello), Prompt(Role.USER, "What is my name?"))
    assert text == "Your name is Ada."
    assert end.reason is FinishReason.STOP
    assert end.usage is not None
    assert end.usage.output_tokens > 0


async def test_it_sees_what_the_adapter_sends_of_a_document(
    make_model: Callable[..., OpenAIChatModel], demo_url: str
) -> None:
    source = DataSource(value=base64.b64encode(b"Buy milk.\nAnd bread.").decode(), mime_type="text/plain")
    document = DocumentPart(source=source, metadata={"name": "list.txt"})
    text, _ = await ask(make_model(base_url=demo_url), Prompt(Role.USER, (TextPart(text="What is this?"), document)))
    assert "document **list.txt** (text/plain, 20 bytes), which begins with: “Buy milk.”" in text


async def test_it_ends_a_conversation_by_the_tool_it_is_offered(
    make_model: Callable[..., OpenAIChatModel], demo_url: str
) -> None:
    model, bye = make_model(base_url=demo_url), Prompt(Role.USER, "That's all, thanks")
    end_conversation = ToolSpec("end_conversation", "Ends it.", {"type": "object"})

    async def say(*prompts: Prompt) -> tuple[str, list[ToolCall], Finished]:
        stream = model.stream(SETTINGS, prompts, thread_files=MemoryThreadFiles(), tools=(end_conversation,))
        *chunks, end = [chunk async for chunk in stream]
        assert isinstance(end, Finished)
        text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        return text, [chunk for chunk in chunks if isinstance(chunk, ToolCall)], end

    farewell, calls, end = await say(bye)
    assert farewell.startswith("Goodbye!")
    assert [call.name for call in calls] == ["end_conversation"]
    assert end.reason is FinishReason.TOOL_CALLS
    answered = Prompt(Role.ASSISTANT, farewell, tool_calls=tuple(calls))
    text, calls, end = await say(bye, answered, Prompt(Role.TOOL, "Ended.", tool_call_id=calls[0].id))
    assert (text, calls, end.reason) == ("", [], FinishReason.STOP)


async def test_it_talks_to_many_at_once(make_model: Callable[..., OpenAIChatModel], demo_url: str) -> None:
    model = make_model(base_url=demo_url)
    answers = await asyncio.gather(*(ask(model, Prompt(Role.USER, f"say number {n}")) for n in range(50)))
    assert [text for text, _ in answers] == [f"number {n}" for n in range(50)]
