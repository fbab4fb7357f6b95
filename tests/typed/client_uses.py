"""Uses of the Python client, which mypy checks with the rest of the code.

A use that is wrong has a ``type: ignore`` with the code of its error: mypy refuses one that ignores nothing.
"""

# ruff: noqa: B018

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import assert_never, assert_type

from pydantic import BaseModel

from baton_client import (
    Answer,
    AsyncBaton,
    Baton,
    ClientTool,
    Interrupt,
    ModelUsage,
    RunResult,
    SaidMessage,
    Source,
    SubTask,
    UploadedPart,
    client_tool,
)
from baton_client.events import AnyEvent, TextMessageContentEvent, UnknownEvent
from baton_client.models import Agent, Document, Thread, ToolCallRecord
from baton_client.run_result import Outcome


class Verdict(BaseModel):
    """A structured answer."""

    is_right: bool


@client_tool
def set_colour(colour: str) -> str:
    """Set the colour."""
    return colour


def decide(call: Interrupt) -> bool | str:
    """Permit small refunds."""
    return call.arguments_by_name.get("euros", 0) < 20 or "Too much."


async def decide_later(call: Interrupt) -> bool:
    """Permit everything, after a while."""
    return call.tool_name is not None


def create_runs(baton: Baton) -> None:
    """Runs that are awaited to their end."""
    result = baton.runs.create("x", approve=decide, tools=[set_colour], thread_id="t", context={"page": "home"})
    assert_type(result, RunResult)
    assert_type(baton.runs.create(["See", baton.threads.files.upload("t", b"x", name="a.txt")]), RunResult)
    baton.runs.create("x", answers=[Answer.approval("i", approved=True, comment="Fine.")])
    baton.runs.create("x", aprove=decide)  # type: ignore[call-arg]
    baton.runs.create("x", approve=lambda call: 5)  # type: ignore[arg-type, return-value]
    baton.runs.create("x", approve=lambda: True)  # type: ignore[arg-type, misc]
    baton.runs.create("x", "t")  # type: ignore[call-arg]
    baton.runs.create(5)  # type: ignore[arg-type]
    baton.runs.create("x", tools=["set_colour"])  # type: ignore[list-item]
    baton.runs.create("x", answers=[True])  # type: ignore[list-item]
    baton.runs.create("x", context={"page": 5})  # type: ignore[dict-item]
    baton.runs.create("x", keep_running="no")  # type: ignore[arg-type]
    baton.runs.create("x", thread_id=5)  # type: ignore[arg-type]


def read_result(result: RunResult) -> None:
    """The parts of a result."""
    assert_type(result.outcome, Outcome)
    assert_type(result.text, str)
    assert_type(result.messages, list[SaidMessage])
    assert_type(result.tasks, list[SubTask])
    assert_type(result.sources, list[Source])
    assert_type(result.usage, list[ModelUsage])
    assert_type(result.result_as(Verdict), Verdict)
    assert_type(result.sources[0].title, str | None)
    assert_type(sum(usage.input_tokens for usage in result.usage), int)
    match result.outcome:
        case "success" | "cancelled" | "interrupt" | "delivered" | "none":
            pass
        case other:
            assert_never(other)
    if result.outcome == "sucess":  # type: ignore[comparison-overlap]
        pass
    if result.tasks[0].status == "done":  # type: ignore[comparison-overlap]
        pass
    result.sources[0]["title"]  # type: ignore[index]
    result.usage[0].inputTokens  # type: ignore[attr-defined]
    result.message  # type: ignore[attr-defined]
    result.text = ""  # type: ignore[misc]


def stream_runs(baton: Baton) -> None:
    """Runs whose events are read."""
    with baton.runs.stream("x", approve=decide, keep_running=True) as stream:
        assert_type(stream.texts(on_restart=set_colour.function), Iterator[str])
        for event in stream:
            assert_type(event, AnyEvent)
            match event:
                case TextMessageContentEvent():
                    assert_type(event.delta, str)
                case UnknownEvent():
                    assert_type(event.type, str)
        assert_type(stream.result(), RunResult)
        assert_type(stream.interrupts, list[Interrupt])
        stream.texts(lambda: None)  # type: ignore[call-arg]
        stream.texts(on_restart="again")  # type: ignore[arg-type]
    baton.runs.follow("t", run_id="r", after="5")  # type: ignore[arg-type]
    baton.runs.follow()  # type: ignore[call-arg]
    baton.runs.stream("x", aprove=decide)  # type: ignore[call-arg]


async def run_asynchronously(baton: AsyncBaton) -> None:
    """The same, awaited."""
    assert_type(await baton.runs.create("x", approve=decide_later), RunResult)
    baton.runs.create("x", aprove=decide)  # type: ignore[call-arg, unused-coroutine]
    async with baton.runs.stream("x", approve=decide_later) as stream:
        assert_type(stream.texts(), AsyncIterator[str])
        async for event in stream:
            assert_type(event, AnyEvent)
        iter(stream)  # type: ignore[call-overload]
    async for thread in baton.threads.list(state="waiting"):
        assert_type(thread, Thread)


def read_what_is_stored(baton: Baton) -> None:
    """Lists and single things."""
    for agent in baton.agents.list():
        assert_type(agent, Agent)
    for call in baton.threads.tool_calls("t"):
        assert_type(call, ToolCallRecord)
    assert_type(baton.documents.upload("shop", Path("returns.md")), Document)
    assert_type(baton.documents.wait("shop", "d", timeout=5), Document)
    assert_type(baton.threads.files.upload("t", Path("a.pdf")), UploadedPart)
    baton.threads.rate("t", "m", "great")  # type: ignore[arg-type]
    baton.threads.get()  # type: ignore[call-arg]
    baton.threads.list(sate="waiting")  # type: ignore[call-arg]
    baton.documents.upload("shop", "returns.md")  # type: ignore[arg-type]
    baton.documents.wait("shop", "d", seconds=5)  # type: ignore[call-arg]
    baton.agents.get("shop").nam  # type: ignore[attr-defined]


def make_tools() -> None:
    """Functions as tools."""
    assert_type(set_colour, ClientTool)
    client_tool(name="paint", description="Paint.")(set_colour.function)
    client_tool(title="paint")  # type: ignore[call-overload]
    client_tool("paint")  # type: ignore[call-overload]
