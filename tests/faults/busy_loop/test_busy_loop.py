"""Nothing keeps the event loop for long, whatever users, models and tools send: others are served meanwhile."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import fault_model as fault
from tests.engines import TableAt
from tests.fault_model import Behaviour, FaultModel
from tests.faults import counts
from tests.faults.busy_loop.heavy_requests import Heavy, run_input
from tests.faults.busy_loop.watchdog import watching

pytestmark = pytest.mark.nightly

MEGABYTE = 1_000_000
LISTS: list[Any] = [[[[[]]]]]


@pytest.fixture(scope="module")
def model() -> Any:
    with FaultModel(otherwise=fault.answers("Fine.")) as model:
        yield model


@pytest.fixture(scope="module")
async def heavy(dynamodb_local_table: TableAt, moto_server: str, model: FaultModel) -> AsyncIterator[Heavy]:
    heavy = Heavy(dynamodb_local_table, moto_server, model.base_url)

    async def look(**arguments: Any) -> str:
        return "Seen."

    heavy.tools.add("look", look, parameters={"type": "object", "properties": {"items": {"type": "array"}}})
    async with heavy.client() as http:  # what is imported and connected once, is before anybody is watched
        model.script(fault.calls_tools(("look", {"items": [1]})), fault.answers("Fine."))
        thread = str(uuid.uuid4())
        await http.post("/runs", content=run_input(thread, "Hello"))
        await http.post("/messages", content=json.dumps({"sessionId": thread, "message": "Hello"}))
        for path in ("messages", "events?after=0", "tool-calls", "tasks"):
            await http.get(f"/threads/{thread}/{path}")
        await heavy.watched_turn(thread, "Hello", "warm")
    yield heavy
    await heavy.model.aclose()
    gc.collect()  # a connection that stayed open is reported here, not in a later test of another module


@pytest.fixture(autouse=True)
def fresh_model(model: FaultModel) -> None:
    model.reset()
    model.otherwise = fault.answers("Fine.")


@contextmanager
def nobody_waits() -> Iterator[None]:
    """Check that the block does not keep the event loop for long."""
    with watching() as dog:
        yield
    counts.note_watch(dog.callbacks, dog.longest_seconds)
    assert not dog.blocked, dog.report()


def parts_of_many_values() -> list[dict[str, Any]]:
    return [{"type": "text", "text": "x", "metadata": {"list": [[]] * 9_000}} for _ in range(32)]


CONTENTS: dict[str, Callable[[], Any]] = {
    "a megabyte of one letter": lambda: "a" * MEGABYTE,
    "a megabyte of rare characters": lambda: "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(MEGABYTE // 3)),
    "a megabyte of escapes": lambda: '"\\' * (MEGABYTE // 4),
    "characters that become many": lambda: "\ufdfa" * (MEGABYTE // 3),
    "a megabyte of sentences": lambda: "start over with. " * (MEGABYTE // 17),
    "many parts": lambda: [{"type": "text", "text": "word " * 6_000}] * 32,
    "parts of many values": parts_of_many_values,
    "an image": lambda: [
        {"type": "text", "text": "What is this?"},
        {
            "type": "image",
            "source": {
                "type": "data",
                "value": base64.b64encode(os.urandom(700_000)).decode(),
                "mimeType": "image/png",
            },
        },
    ],
    "a document": lambda: [
        {
            "type": "document",
            "source": {"type": "data", "value": base64.b64encode(b"a,b\n" * 170_000).decode(), "mimeType": "text/csv"},
        }
    ],
}


@pytest.mark.parametrize("kind", CONTENTS)
async def test_messages(heavy: Heavy, kind: str) -> None:
    thread = str(uuid.uuid4())
    body = run_input(thread, CONTENTS[kind]())
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=body)
            await http.post("/runs", content=body)
            await http.post("/runs", content=run_input(thread, "And now?"))
            await http.get(f"/threads/{thread}/messages")


def make_messages(**message: Any) -> list[dict[str, Any]]:
    return [{"id": f"m{n}", **message} for n in range(5 * MEGABYTE // (len(json.dumps(message)) + 20))]


BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "many messages": lambda: {"messages": make_messages(role="user", content="hi")},
    "many messages with calls": lambda: {
        "messages": make_messages(
            role="assistant", toolCalls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        )
    },
    "many tools": lambda: {"tools": [{"name": "f", "description": "d", "parameters": {}}] * 90_000},
    "much context": lambda: {"context": [{"description": "d", "value": "v"}] * 120_000},
    "a state of lists": lambda: {"state": LISTS * 400_000},
    "a long state": lambda: {"state": "x" * 4 * MEGABYTE},
    "answers to interrupts": lambda: {"resume": [{"interruptId": "i", "status": "resolved"}] * 90_000},
}


@pytest.mark.parametrize("kind", BODIES)
async def test_bodies(heavy: Heavy, kind: str) -> None:
    body = run_input(str(uuid.uuid4()), "Hello", **BODIES[kind]())
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=body)
            await http.post("/messages", content=body)


def answer_in_one_event(text: str) -> Behaviour:
    """Answer with the text in one event."""
    return fault.sends(fault.chunk({"content": text}), fault.chunk({}, "stop"), "[DONE]")


ANSWERS: dict[str, Callable[[], Behaviour]] = {
    "in one piece": lambda: answer_in_one_event("word " * 200_000),
    "in many pieces": lambda: fault.text_flood("word " * 1_000),
    "in tiny pieces": lambda: fault.tokens(4_000),
    "of one letter": lambda: fault.text_flood("a" * 60_000),
    "of escapes": lambda: answer_in_one_event('"\\\x01' * 330_000),
    "of halves of characters": lambda: answer_in_one_event("\ud83d" * 300_000),
    "of thoughts": fault.reasoning_flood,
    "of empty lines": fault.newline_flood,
    "of brackets": fault.brackets_flood,
    "of arguments": fault.arguments_flood,
    "of arguments with names": lambda: fault.arguments_flood(repeats_name=True),
    "of calls": fault.calls_flood,
    "of one event": fault.line_flood,
}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_answers(heavy: Heavy, model: FaultModel, kind: str) -> None:
    thread = str(uuid.uuid4())
    model.script(ANSWERS[kind]())
    body = run_input(thread, "Tell me everything.")
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=body)
            await http.post("/runs", content=body)
            await http.get(f"/threads/{thread}/messages")
            await http.post("/runs", content=run_input(thread, "And now?"))


async def test_answers_before_many_screens(heavy: Heavy, model: FaultModel) -> None:
    thread = str(uuid.uuid4())
    await heavy.watched_turn(thread, "Hello", "first")
    for number in range(30):
        await heavy.live.attach(heavy.ada, thread, f"screen-{number}", heavy.clock.now().replace(year=2099))
    model.script(answer_in_one_event('"x' * 500_000))
    with nobody_waits():
        await heavy.watched_turn(thread, "Tell me everything.", "first")


ARGUMENTS: dict[str, Callable[[], list[str]]] = {
    "long": lambda: [json.dumps({"items": ["x" * 900_000]})],
    "of many numbers": lambda: [json.dumps({"items": list(range(130_000))})],
    "of many lists": lambda: [json.dumps({"items": LISTS * 80_000})],
    "malformed": lambda: ['{"items": [' + "[" * 900_000],
    "of 64 calls of 15 KB": lambda: [json.dumps({"items": ["x" * 15_000]})] * 64,
}


@pytest.mark.parametrize("kind", ARGUMENTS)
async def test_arguments(heavy: Heavy, model: FaultModel, kind: str) -> None:
    thread = str(uuid.uuid4())
    deltas = [
        fault.chunk(fault.tool_delta(index, id=f"call_{index}", name="look", arguments=arguments))
        for index, arguments in enumerate(ARGUMENTS[kind]())
    ]
    model.script(fault.sends(*deltas, fault.chunk({}, "tool_calls"), "[DONE]"), fault.answers("Fine.", usage=False))
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=run_input(thread, "Look."))
            await http.get(f"/threads/{thread}/tool-calls")
            await http.post("/runs", content=run_input(thread, "And now?"))


RESULTS: dict[str, Callable[[], str]] = {
    "long": lambda: "word " * 2_000_000,
    "of one letter": lambda: "a" * 10 * MEGABYTE,
    "of halves of characters": lambda: "\ud83d" * 3 * MEGABYTE,
    "of lists": lambda: json.dumps(LISTS * 800_000),
}


@pytest.mark.parametrize("kind", RESULTS)
async def test_results(heavy: Heavy, model: FaultModel, kind: str) -> None:
    thread, result = str(uuid.uuid4()), RESULTS[kind]()

    async def fetch() -> str:
        return result

    heavy.tools.add("fetch", fetch)
    calls: list[tuple[str, Any]] = [("fetch", {})] * 5
    model.script(fault.calls_tools(*calls), fault.answers("Fine.", usage=False))
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=run_input(thread, "Look."))
            await http.get(f"/threads/{thread}/tool-calls")
            await http.post("/runs", content=run_input(thread, "And now?"))


async def test_a_long_history(heavy: Heavy, model: FaultModel) -> None:
    thread = str(uuid.uuid4())
    async with heavy.client() as http:
        with nobody_waits():
            for _ in range(8):
                model.script(answer_in_one_event("語" * 9_000))
                await http.post("/runs", content=run_input(thread, "a" * 60_000))
            model.script(fault.answers("Fine.", usage=False))
            await http.post("/runs", content=run_input(thread, "And now?"))
            await http.get(f"/threads/{thread}/messages?limit=100")
            await http.get(f"/threads/{thread}/events?after=0")


async def test_many_tools(heavy: Heavy, model: FaultModel) -> None:
    async def use() -> str:
        return "Used."

    names = [f"tool_{number}" for number in range(200)]
    properties = {f"field_{n}": {"type": "string", "description": "What it is. " * 5} for n in range(20)}
    for name in names:
        heavy.tools.add(name, use, parameters={"type": "object", "properties": properties})
    model.script(fault.calls_tools(("tool_1", {})), fault.answers("Fine.", usage=False))
    async with heavy.client() as http:
        with nobody_waits():
            await http.post("/runs", content=run_input(str(uuid.uuid4()), "Use one."))
    for name in names:
        heavy.tools.withdraw(name)


async def test_it_notices() -> None:
    """Without this, a watchdog that sleeps would pass everything above."""

    def hard_work(seconds: float) -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    with watching() as dog:
        await asyncio.sleep(0)
        hard_work(5 * dog.limit_seconds)
        await asyncio.sleep(0)
    [blocked] = dog.blocked
    assert "test_it_notices" in blocked.callback
    assert "hard_work" in str(blocked)
