"""Baton's own time in a turn: ``python -m benchmarks.turn_latency``.

The local cloud and a model endpoint that answers without delay run in separate processes. Turns over WebSocket, turns
over SSE and direct calls of the endpoint alternate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx
import websockets.asyncio.client as websocket
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from websockets.typing import Subprotocol

from baton.adapters.agents.agent_files import AgentFiles
from baton_local.engines.process import start_on_free_port
from baton_local.root import ROOT
from benchmarks.instruments.frames import parse_events
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.workload import ANSWER, QUESTION

TURNS = 200
THREADS = 10
WARM_UP = 2
"""The number of turns on each thread before the measured ones."""
MODEL = "benchmark"
KEY = "no-key"
TENANT, USER = "benchmark", "ada"


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one turn, in seconds from sending the question."""

    first_token: float
    whole: float
    started: float | None = None
    """Seconds to RUN_STARTED; None for a direct call."""


class Way(Protocol):
    """A way to ask a question in one of several conversations."""

    async def run_turn(self, thread: int) -> Timing:
        """Ask the question in the conversation with an index, read the whole answer, and return the timing.

        Raises ``RuntimeError`` if the answer is not whole.
        """


class Direct:
    """Direct calls of the model's endpoint, with conversations in memory, as in a program without Baton."""

    def __init__(self, client: AsyncOpenAI, system_prompt: str, threads: int) -> None:
        self._client = client
        self._threads: list[list[ChatCompletionMessageParam]] = [
            [{"role": "system", "content": system_prompt}] for _ in range(threads)
        ]

    async def run_turn(self, thread: int) -> Timing:
        messages = self._threads[thread]
        began = time.perf_counter()
        messages.append({"role": "user", "content": QUESTION})
        stream = await self._client.chat.completions.create(
            model=MODEL, messages=messages, stream=True, temperature=0.3, stream_options={"include_usage": True}
        )
        first_token = 0.0
        text = ""
        async for chunk in stream:
            delta = chunk.choices[0].delta.content if chunk.choices else None
            if delta:
                first_token = first_token or time.perf_counter() - began
                text += delta
        messages.append({"role": "assistant", "content": text})
        whole = time.perf_counter() - began
        _check(text)
        return Timing(first_token, whole)


class OverSse:
    """A client that calls ``POST /v1/runs``."""

    def __init__(self, client: httpx.AsyncClient, threads: int) -> None:
        self._client = client
        self._threads = _make_thread_ids(threads)

    async def run_turn(self, thread: int) -> Timing:
        body = {
            "threadId": self._threads[thread],
            "runId": str(uuid.uuid4()),
            "state": {},
            "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": QUESTION}],
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        clock = _EventClock()
        async with self._client.stream("POST", "/v1/runs", json=body) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    clock.take(json.loads(line.removeprefix("data: ")))
        return clock.make_timing()


class OverWebSocket:
    """A client that sends the action ``message`` over a WebSocket."""

    def __init__(self, connection: websocket.ClientConnection, threads: int) -> None:
        self._connection = connection
        self._threads = _make_thread_ids(threads)

    async def run_turn(self, thread: int) -> Timing:
        frame = {
            "action": "message",
            "threadId": self._threads[thread],
            "messageId": str(uuid.uuid4()),
            "content": QUESTION,
        }
        clock = _EventClock()
        await self._connection.send(json.dumps(frame))
        while not clock.is_over:
            for event in parse_events(await asyncio.wait_for(self._connection.recv(), 30)):
                clock.take(event)
        return clock.make_timing()


class _EventClock:
    """The arrival times of the first event of each type in a turn."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._at: dict[str, float] = {}
        self._text = ""

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended."""
        return "RUN_FINISHED" in self._at

    def take(self, event: dict[str, Any]) -> None:
        """Note an event that arrives now. Raises ``RuntimeError`` if the turn failed."""
        if event["type"] == "RUN_ERROR":
            raise RuntimeError(f"a turn failed: {event}")
        self._at.setdefault(event["type"], time.perf_counter() - self._began)
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            self._text += event["delta"]

    def make_timing(self) -> Timing:
        """Return the timing of the turn. Raises ``RuntimeError`` if it has not ended, or its answer is not whole."""
        _check(self._text)
        if not self.is_over:
            raise RuntimeError("the events of a turn ended before RUN_FINISHED")
        return Timing(self._at["TEXT_MESSAGE_CONTENT"], self._at["RUN_FINISHED"], self._at["RUN_STARTED"])


def _check(text: str) -> None:
    """Raise ``RuntimeError`` unless the text is the whole answer."""
    if text != ANSWER:
        raise RuntimeError(f"an answer did not arrive whole: {len(text)} of {len(ANSWER)} characters")


def _make_thread_ids(count: int) -> list[str]:
    return [str(uuid.uuid4()) for _ in range(count)]


@contextmanager
def model_endpoint() -> Iterator[str]:
    """Start the model endpoint and yield its base URL."""

    def make_command(port: int) -> list[str]:
        server = [sys.executable, "-m", "uvicorn", "benchmarks.inputs.model_server:app"]
        return [*server, "--port", str(port), "--log-level", "warning", "--no-access-log"]

    child, port = start_on_free_port("the model", make_command, lambda port: is_answering(f"http://127.0.0.1:{port}/"))
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        child.stop()


@contextmanager
def local_cloud(model_url: str, **variables: object) -> Iterator[str]:
    """Start the local cloud with the model at ``model_url`` and further ``variables``, and yield its URL."""

    def make_command(port: int) -> list[str]:
        settings = {
            "PORT": port,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": KEY,
            "BATON_CHAT_MODEL": MODEL,
            "BATON_LOCAL_DOCS": 0,  # indexing Baton's documentation would slow turns down for minutes
            **variables,
        }
        return ["env", *(f"{name}={value}" for name, value in settings.items()), sys.executable, "-m", "baton_local"]

    child, port = start_on_free_port(
        "the local cloud", make_command, lambda port: is_answering(f"http://127.0.0.1:{port}/local/health"), timeout=180
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.stop()


def is_answering(url: str) -> bool:
    """Return whether a server answers at ``url``, with any status."""
    try:
        httpx.get(url, trust_env=False)
    except httpx.HTTPError:
        return False
    return True


@asynccontextmanager
async def _ways(threads: int) -> AsyncIterator[dict[str, Way]]:
    """Start the processes and connections, and yield all ways by name."""
    async with AsyncExitStack() as stack:
        model_url = stack.enter_context(model_endpoint())
        url = stack.enter_context(local_cloud(model_url))
        baton = await stack.enter_async_context(_baton_ways(url, threads))
        openai = await stack.enter_async_context(AsyncOpenAI(api_key=KEY, base_url=model_url, max_retries=0))
        system_prompt = AgentFiles.load(ROOT / "agents", "assistant").get_default_main().system_prompt
        yield {"the model, directly": Direct(openai, system_prompt, threads), **baton}


@asynccontextmanager
async def _baton_ways(url: str, threads: int) -> AsyncIterator[dict[str, Way]]:
    """Connect to the local cloud at ``url``, and yield its ways by name."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=30, trust_env=False))
        answer = await http.post("/local/token", json={"tenant": TENANT, "user": USER})
        token = answer.raise_for_status().json()["token"]
        http.headers["Authorization"] = f"Bearer {token}"
        subprotocols = [Subprotocol("baton.v1"), Subprotocol(token)]
        connection = await stack.enter_async_context(
            websocket.connect(url.replace("http", "ws", 1) + "/ws", subprotocols=subprotocols, proxy=None)
        )
        yield {"WebSocket": OverWebSocket(connection, threads), "SSE": OverSse(http, threads)}


async def measure(turns: int, threads: int = THREADS, warm_up: int = WARM_UP) -> dict[str, list[Timing]]:
    """Run ``turns`` turns in each way alternately, after the warm-up. Return the timings by the way's name.

    ``warm_up`` is the number of turns on each thread before the measured ones.
    """
    async with _ways(threads) as ways:
        timings: dict[str, list[Timing]] = {name: [] for name in ways}
        names = list(ways)
        for number in range(warm_up * threads + turns):
            # Rotate the order, so that each way is first equally often.
            for name in (*names[number % len(names) :], *names[: number % len(names)]):
                timing = await ways[name].run_turn(number % threads)
                if number >= warm_up * threads:
                    timings[name].append(timing)
        return timings


@dataclass(frozen=True, slots=True)
class Figures:
    """The percentiles of one time of one way, in seconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figures:
        """Return the percentiles of at least two values."""
        return cls(statistics.median(values), statistics.quantiles(values, n=100, method="inclusive")[94])


def compute_figures(timings: Sequence[Timing]) -> dict[str, Figures]:
    """Return the figures of the first token, the whole turn and, if the timings have it, RUN_STARTED."""
    started = [timing.started for timing in timings if timing.started is not None]
    return {
        **({"started": Figures.of(started)} if started else {}),
        "first_token": Figures.of([timing.first_token for timing in timings]),
        "whole": Figures.of([timing.whole for timing in timings]),
    }


def format_timings(timings: dict[str, list[Timing]]) -> str:
    """Return a table with one line per way. The ratios compare the median of each way with that of the first way."""
    results = {name: compute_figures(values) for name, values in timings.items()}
    direct = next(iter(results.values()))
    rows = []
    for name, result in results.items():
        cells: list[str] = [name]
        for time_name in ("started", "first_token", "whole"):
            if time_name not in result:
                cells += ["", ""]
                continue
            cells += [_format_milliseconds(result[time_name].p50), _format_milliseconds(result[time_name].p95)]
            if time_name in direct:
                cells.append(f"{result[time_name].p50 / direct[time_name].p50:.1f}")
        rows.append(cells)
    head = ["milliseconds", "RUN_STARTED p50", "p95", "first token p50", "p95", "ratio", "turn p50", "p95", "ratio"]
    return format_table(head, rows)


def format_own_time(timings: dict[str, list[Timing]]) -> str:
    """Return a table of each way's median minus that of the direct call."""
    results = {name: compute_figures(values) for name, values in timings.items()}
    (_, direct), *others = results.items()
    rows = [
        (
            name,
            _format_milliseconds(result["first_token"].p50 - direct["first_token"].p50),
            _format_milliseconds(result["whole"].p50 - direct["whole"].p50),
        )
        for name, result in others
    ]
    return format_table(["milliseconds, medians", "to first token", "whole turn"], rows)


def _format_milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_latency", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="measured turns each way (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=THREADS, help="conversations each way (default: %(default)s)")
    parser.add_argument(
        "--warm-up", type=int, default=WARM_UP, help="turns on each before the measured ones (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print every timing, in seconds, as JSON instead")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    timings = asyncio.run(measure(arguments.turns, arguments.threads, arguments.warm_up))
    if arguments.json:
        values = {
            name: [
                {"started": timing.started, "firstToken": timing.first_token, "whole": timing.whole}
                for timing in way_timings
            ]
            for name, way_timings in timings.items()
        }
        print(json.dumps({"machine": describe_machine(), "load": load, "turns": values}, indent=2))
        return
    print(f"Measured on {describe_machine()}; load average before it {load:.1f}.")
    print(
        f"{arguments.turns} turns each way on {arguments.threads} threads, after {arguments.warm_up} turns on each.\n"
    )
    print(format_timings(timings))
    print("\nBaton's own time (less that of the direct call):\n")
    print(format_own_time(timings))


if __name__ == "__main__":
    main()
