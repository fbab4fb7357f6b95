"""Counts the frames and generators of a turn: ``python -m benchmarks.call_depth``.

Prints Baton's own frames from the worker's handler to the model's HTTP request, and the asynchronous generators that a
piece of the answer passes from the HTTP stream to the outbox. A task's frames count after those that created it. The
handler, the use cases and the model's adapter are the deployed ones; the stores are fakes, the endpoint is in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import runpy
import sys
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

import httpx2 as httpx

from baton import composition
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.provider_models import ProviderModels
from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.app import App, build
from baton.composition.startup import event_loop
from baton.domain.agents.agent import AgentDefinition
from baton.ports.clock import SystemClock
from baton_local.root import ROOT, TOKENIZER
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from baton_testing.fakes.agents.tools import FakeTools
from baton_testing.fakes.ports import MemoryPorts

OWN = (str(ROOT / "shared/baton"), str(ROOT / "functions"))
HANDLER = "functions/turns/app.py"
AGENT = AgentDefinition(id="assistant", name="Assistant", description="Answers.", system_prompt="Be brief.", main=True)
MODEL = "https://model.invalid/v1"
WORDS = ("It ", "answers.")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of Baton's own code on the way."""

    location: str
    name: str
    is_generator: bool


@dataclass(slots=True)
class CallDepth:
    """The calls of a turn, from the handler on."""

    to_request: list[Step] = field(default_factory=list)
    """The frames from the handler to the model's HTTP request."""
    from_stream: list[Step] = field(default_factory=list)
    """The frames from the handler to the model's HTTP stream while a piece of the answer is read."""

    @property
    def frames(self) -> int:
        """The number of frames of Baton from the handler to the model's HTTP request, both included."""
        return len(self.to_request)

    @property
    def generators(self) -> list[Step]:
        """The asynchronous generators between the model's HTTP stream and the outbox."""
        return [step for step in self.from_stream if step.is_generator]


class _Callers:
    """The calls that led to the current one, through the tasks that were created on the way."""

    def __init__(self) -> None:
        self._creators: WeakKeyDictionary[asyncio.Future[Any], list[Step]] = WeakKeyDictionary()
        self._handler = threading.get_ident()

    def create(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """Create a task, as the event loop's task factory, and remember who did."""
        steps = self.current(sys._getframe(1))
        task = asyncio.Task(coroutine, loop=loop, **options)
        self._creators[task] = steps
        return task

    def current(self, frame: FrameType | None) -> list[Step]:
        """Return Baton's own calls that led to ``frame``, outermost first."""
        task = asyncio.current_task() if asyncio._get_running_loop() is not None else None
        before = self._creators.get(task, []) if task is not None else _own_steps(sys._current_frames()[self._handler])
        return [*before, *_own_steps(frame)]


class _Endpoint(httpx.AsyncBaseTransport):
    """A model's endpoint, which takes down the calls that led to it."""

    def __init__(self, callers: _Callers) -> None:
        self._callers = callers
        self.depth = CallDepth()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.depth.to_request = self._callers.current(sys._getframe())
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Stream(self._lines()))

    async def _lines(self) -> AsyncIterator[bytes]:
        for word in WORDS:
            yield _line({"index": 0, "delta": {"role": "assistant", "content": word}})
        self.depth.from_stream = self._callers.current(sys._getframe())
        yield _line({"index": 0, "delta": {}, "finish_reason": "stop"})
        yield b"data: [DONE]\n\n"


class _Stream(httpx.AsyncByteStream):
    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._lines:
            yield line


@dataclass(frozen=True, slots=True)
class _Context:
    """Lambda's context."""

    function_name: str = "turns"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:turns"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def measure() -> CallDepth:
    """Run one turn of a new thread through the worker's handler, and return its calls."""
    callers = _Callers()
    endpoint = _Endpoint(callers)
    model = OpenAIChatModel(api_key="none", base_url=MODEL, transport=endpoint)
    ports = MemoryPorts(
        clock=SystemClock(),
        shipped_agents=FakeShippedAgents(AGENT),
        model=ProviderModels({"default": lambda: model}),
        default_model="model",
        light_model="model",
        counter=TiktokenCounter(TOKENIZER),
        tools=FakeTools(),
    )
    # The handler's loop: the factory is set in the loop's own thread, before the first task of the turn.
    event_loop.run(_set_task_factory(callers))
    try:
        with _handler(build(ports)) as handler:
            answer = handler(_record(), _Context())
    finally:
        event_loop.run(_set_task_factory(None))
    if answer["batchItemFailures"] or not endpoint.depth.from_stream:
        raise RuntimeError("The turn has failed; the log above says why.")
    return endpoint.depth


@contextlib.contextmanager
def _handler(app: App) -> Iterator[Any]:
    """Load the worker's handler over ``app``."""
    with (
        patch.object(composition, "deployed", lambda: app),
        patch.object(composition, "prepare_turns", lambda: None),
    ):
        yield runpy.run_path(str(ROOT / HANDLER))["handler"]


async def _set_task_factory(callers: _Callers | None) -> None:
    factory: Any = callers.create if callers is not None else None
    asyncio.get_running_loop().set_task_factory(factory)


def _record() -> dict[str, Any]:
    """Return the event of a queued message."""
    event: dict[str, Any] = json.loads((ROOT / "events/sqs_turns.json").read_text())
    [record] = event["Records"]
    record["attributes"]["SentTimestamp"] = str(int(datetime.now(UTC).timestamp() * 1000))
    return event


def _own_steps(frame: FrameType | None) -> list[Step]:
    """Return the frames of Baton's own code up to ``frame``, outermost first."""
    steps: list[Step] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(OWN) and frame.f_code.co_name != "<module>":
            steps.append(_step(frame.f_code))
        frame = frame.f_back
    steps.reverse()
    return steps


def _step(code: CodeType) -> Step:
    path = Path(code.co_filename).relative_to(ROOT)
    return Step(str(path), code.co_qualname, bool(code.co_flags & inspect.CO_ASYNC_GENERATOR))


def _line(choice: dict[str, Any]) -> bytes:
    body = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


def main() -> None:
    """Print the calls and both numbers."""
    depth = measure()
    for number, step in enumerate(depth.to_request, 1):
        print(f"{number:3} {step.location.removeprefix('shared/baton/'):40} {step.name}{' *' * step.is_generator}")
    print(f"\nFrames from the handler to the model's HTTP request: {depth.frames}")
    print(f"Generators from the model's HTTP stream to the outbox: {len(depth.generators)}")
    print("  " + ", ".join(step.name for step in reversed(depth.generators)))


if __name__ == "__main__":
    main()
