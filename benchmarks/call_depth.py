"""Count the frames, generators, tasks and buffers of a turn: ``python -m benchmarks.call_depth``.

The report shows Baton's own frames from the worker's handler to the model's HTTP request, and the asynchronous
generators through which a piece of the answer passes from the HTTP stream to the outbox. A task's frames follow the
frames that created it. The handler, the use cases and the model's adapter are those of a deployment; the stores are
fakes, and the model's endpoint is in memory.
Between the model's socket and the user's, the report also counts the tasks that pass the piece on, and the buffers in
which the piece waits for another step of the event loop. A copy for the log, which outlives the frame, is not a buffer.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import json
import runpy
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

import httpx2 as httpx
from ag_ui.core import BaseEvent, TextMessageContentEvent

from baton import composition
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.provider_models import ProviderModels
from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.app import App, build
from baton.composition.startup import event_loop
from baton.domain.agents.agent import AgentDefinition
from baton.ports.clock import SystemClock
from baton.threads.outbox.outbox import Outbox
from baton_local.root import ROOT, TOKENIZER
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from baton_testing.fakes.agents.tools import FakeTools
from baton_testing.fakes.ports import MemoryPorts
from baton_testing.fakes.threads.connections import FakeConnections

OWN = (str(ROOT / "shared/baton"), str(ROOT / "functions"))
HANDLER = "functions/turns/app.py"
AGENT = AgentDefinition(id="assistant", name="Assistant", description="Answers.", system_prompt="Be brief.", main=True)
MODEL = "https://model.invalid/v1"
MARK = "answers"
"""The piece of the answer that is followed."""
WORDS = ("It ", f"{MARK}.")
ROOMS = ("baton.adapters.models", "baton.agents", "baton.threads", "baton.turns")
MOST = 1_000
"""The items from which a list is too long to be searched for the piece."""
PATIENCE_SECONDS = 10.0
"""The longest wait for the piece to arrive at the connection."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of Baton's own code on the way."""

    location: str
    """The file, relative to the repository."""
    name: str
    is_generator: bool


@dataclass(slots=True)
class CallDepth:
    """The calls of a turn, beginning with the handler."""

    to_request: list[Step] = field(default_factory=list)
    """The frames from the handler to the model's HTTP request."""
    from_stream: list[Step] = field(default_factory=list)
    """The frames from the handler to the model's HTTP stream while a piece of the answer is read."""

    tasks: list[str] = field(default_factory=list)
    """The tasks that pass a piece of the answer on between the sockets, by their coroutines."""
    buffers: list[str] = field(default_factory=list)
    """The attributes in which the piece waits between the sockets."""

    @property
    def frames(self) -> int:
        """The number of frames of Baton from the handler to the model's HTTP request, both included."""
        return len(self.to_request)

    @property
    def generators(self) -> list[Step]:
        """The asynchronous generators between the model's HTTP stream and the outbox."""
        return [step for step in self.from_stream if step.is_generator]


class _Callers:
    """The calls that led to the current one, including those in the tasks that created its task."""

    def __init__(self) -> None:
        self._creators: WeakKeyDictionary[asyncio.Future[Any], list[Step]] = WeakKeyDictionary()
        self._handler = threading.get_ident()

    def create(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """Create a task, as the event loop's task factory, and remember the calls that created it."""
        steps = self.find_steps(sys._getframe(1))
        task = asyncio.Task(coroutine, loop=loop, **options)
        self._creators[task] = steps
        return task

    def find_steps(self, frame: FrameType | None) -> list[Step]:
        """Return Baton's own calls that led to ``frame``, outermost first."""
        task = asyncio.current_task() if asyncio._get_running_loop() is not None else None
        before = (
            self._creators.get(task, []) if task is not None else _find_own_steps(sys._current_frames()[self._handler])
        )
        return [*before, *_find_own_steps(frame)]


COPIES = frozenset({"Delivery._recent", "EventLog._unlogged"})
"""Copies for later connections and for the log, in which the piece does not wait."""


class _Passage:
    """The passage of a piece of the answer, from the model's stream to a connection."""

    def __init__(self) -> None:
        self._is_under_way = False
        self._arrived = asyncio.Event()
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self._held: dict[tuple[int, str], object] = {}
        """The objects that held the piece between two steps, by their identity and attribute."""

    def begin(self) -> None:
        """Begin the passage, when the piece is read from the model's socket."""
        self._is_under_way = True
        self.note_task()

    def note_task(self) -> None:
        """Note that the current task passes the piece on."""
        task = asyncio.current_task()
        if self._is_under_way and task is not None:
            self._tasks.setdefault(task, getattr(task.get_coro(), "__qualname__", "?"))

    def end(self) -> None:
        """End the passage, when the piece is written to the connection's socket."""
        self.note_task()
        self._is_under_way = False
        self._arrived.set()

    async def wait_for_end(self) -> None:
        """Wait until the passage has ended. Raises ``TimeoutError`` after ``PATIENCE_SECONDS``."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._arrived.wait()

    def look(self) -> None:
        """Note the objects that hold the piece, after a step of the event loop."""
        if self._is_under_way:
            for owner, name in _find_holders(gc.get_objects()):
                self._held[id(owner), name] = owner

    @property
    def tasks(self) -> list[str]:
        return list(self._tasks.values())

    @property
    def buffers(self) -> list[str]:
        entries = {(id(owner), name) for owner, name in _find_holders(self._held.values())}
        names = [
            f"{type(owner).__name__}.{name}" for (key, name), owner in self._held.items() if (key, name) not in entries
        ]
        return [name for name in names if name not in COPIES]


def _find_holders(objects: Iterable[object]) -> Iterator[tuple[object, str]]:
    """Yield the objects of Baton and the queues that hold the piece, each with the name of the attribute."""
    for owner in objects:
        kind = type(owner)
        if not (str(kind.__module__).startswith(ROOMS) or kind is asyncio.Queue):
            continue
        names = [*getattr(owner, "__dict__", ()), *(kind.__dict__.get("__slots__") or ())]
        for name in names:
            with contextlib.suppress(Exception):
                value = getattr(owner, name)
                if type(value) in (list, deque) and len(value) < MOST and MARK in repr(value):
                    yield owner, name


class _Endpoint(httpx.AsyncBaseTransport):
    """A model's endpoint, which records the calls that led to it."""

    def __init__(self, callers: _Callers, passage: _Passage) -> None:
        self._callers = callers
        self._passage = passage
        self.depth = CallDepth()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.depth.to_request = self._callers.find_steps(sys._getframe())
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Stream(self._chunks()))

    async def _chunks(self) -> AsyncIterator[bytes]:
        for word in WORDS:
            if MARK in word:
                await asyncio.sleep(0.1)  # by then, the first words are being sent
                self._passage.begin()
            yield _make_chunk({"index": 0, "delta": {"role": "assistant", "content": word}})
        self.depth.from_stream = self._callers.find_steps(sys._getframe())
        await self._passage.wait_for_end()  # so that no later chunk is under way at the same time
        yield _make_chunk({"index": 0, "delta": {}, "finish_reason": "stop"})
        yield b"data: [DONE]\n\n"


class _Stream(httpx.AsyncByteStream):
    """The body of the endpoint's answer."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            yield chunk


@dataclass(frozen=True, slots=True)
class _Context:
    """The context that Lambda passes to a handler."""

    function_name: str = "turns"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:turns"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def measure() -> CallDepth:
    """Run one turn of a new thread through the worker's handler, and return its calls.

    Raises ``RuntimeError`` if the turn fails.
    """
    callers, passage = _Callers(), _Passage()
    endpoint = _Endpoint(callers, passage)
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
    gc.freeze()  # only new objects are searched after each step: a test process has millions of objects
    try:
        with _handler(build(ports)) as handler, _followed(passage):
            response = handler(_make_event(), _Context())
    finally:
        gc.unfreeze()
        event_loop.run(_set_task_factory(None))
    depth = endpoint.depth
    depth.tasks, depth.buffers = passage.tasks, passage.buffers
    if response["batchItemFailures"] or not depth.from_stream or not depth.tasks:
        raise RuntimeError("The turn has failed; the log above says why.")
    return depth


@contextlib.contextmanager
def _followed(passage: _Passage) -> Iterator[None]:
    """Follow the piece through the outbox to the connection, and between all steps of the event loop."""
    run_step, post, send = asyncio.Handle._run, FakeConnections.post, Outbox.send

    def run_noted(handle: asyncio.Handle) -> None:
        run_step(handle)
        passage.look()

    async def post_noted(connections: FakeConnections, connection_id: str, frame: str) -> None:
        if MARK in frame:
            passage.end()
        await post(connections, connection_id, frame)

    def send_noted(outbox: Outbox, event: BaseEvent) -> None:
        if isinstance(event, TextMessageContentEvent) and MARK in event.delta:
            passage.note_task()
        send(outbox, event)

    with (
        patch.object(asyncio.Handle, "_run", run_noted),
        patch.object(FakeConnections, "post", post_noted),
        patch.object(Outbox, "send", send_noted),
    ):
        yield


@contextlib.contextmanager
def _handler(app: App) -> Iterator[Any]:
    """Load the worker's handler with ``app`` as the deployed application."""
    with patch.object(composition, "deployed", lambda: app), patch.object(composition, "prepare_turns", lambda: None):
        yield runpy.run_path(str(ROOT / HANDLER))["handler"]


async def _set_task_factory(callers: _Callers | None) -> None:
    factory: Any = callers.create if callers is not None else None
    asyncio.get_running_loop().set_task_factory(factory)


def _make_event() -> dict[str, Any]:
    """Return the event with which Lambda passes a queued message."""
    event: dict[str, Any] = json.loads((ROOT / "events/sqs_turns.json").read_text())
    [record] = event["Records"]
    now = datetime.now(UTC).timestamp()
    record["attributes"]["SentTimestamp"] = str(int(now * 1000))
    record["body"] = json.dumps(json.loads(record["body"]) | {"connectionExpiresAt": int(now) + 3600})
    return event


def _find_own_steps(frame: FrameType | None) -> list[Step]:
    """Return the frames of Baton's own code up to ``frame``, outermost first."""
    steps: list[Step] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(OWN) and frame.f_code.co_name != "<module>":
            steps.append(_make_step(frame.f_code))
        frame = frame.f_back
    steps.reverse()
    return steps


def _make_step(code: CodeType) -> Step:
    """Return the step of a call of this code."""
    path = Path(code.co_filename).relative_to(ROOT)
    return Step(str(path), code.co_qualname, bool(code.co_flags & inspect.CO_ASYNC_GENERATOR))


def _make_chunk(choice: dict[str, Any]) -> bytes:
    """Return a chunk of the model's answer as an event of SSE."""
    body = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


def main() -> None:
    """Measure, and print the calls and all numbers."""
    depth = measure()
    for number, step in enumerate(depth.to_request, 1):
        print(f"{number:3} {step.location.removeprefix('shared/baton/'):40} {step.name}{' *' * step.is_generator}")
    print(f"\nFrames from the handler to the model's HTTP request: {depth.frames}")
    print(f"Generators from the model's HTTP stream to the outbox: {len(depth.generators)}")
    print("  " + ", ".join(step.name for step in reversed(depth.generators)))
    for noun, names in (("Tasks", depth.tasks), ("Buffers", depth.buffers)):
        print(f"{noun} of a piece of the answer from socket to socket: {len(names)}")
        print("  " + ", ".join(names))


if __name__ == "__main__":
    main()
