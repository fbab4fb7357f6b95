"""From ``kill -9`` during a run to the next event, on real processes; part of ``tests.faults.chaos``.

A local cloud whose workers are separate processes, and for SSE a process that serves the web app, started by the
function's own script. A third of the conversations waits for the first token, a third is in the middle of an answer,
and a third in a tool call. They begin a moment apart, so that the kill finds each at another point between two signs of
life. Clients do what clients do: a WebSocket just waits; of the HTTP callers every other one follows the events as a
browser's EventSource does, after the pause that the stream asks for (three seconds if it asks for none), and the others
send the same run again after one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed

from baton_local.root import ROOT
from benchmarks.instruments.frames import parse_events
from benchmarks.instruments.report import format_table
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import SUBPROTOCOL, connect_with
from tests.e2e.users import run_input
from tests.fault_model import Exchange, FaultModel, chunk, tool_delta

CONVERSATIONS = 6
"""At a time, for each way."""
SPREAD_SECONDS = 12.0
"""Within which they begin: longer than from one sign of life to the next."""
SPARED_SECONDS = 2.0
"""Anybody who still hears its old worker so long after the kill was with another process."""
EVENT_SOURCE_SECONDS = 3.0
"""The pause of a browser's EventSource, unless the stream has a ``retry`` field."""
AGAIN_SECONDS = 1.0
PATIENCE_SECONDS = 150.0
TENANT = "recovery"
POINTS = {"first token": "RUN_STARTED", "answer": "TEXT_MESSAGE_CONTENT", "tool call": "TOOL_CALL_START"}
"""Points of a run at which its worker is killed, as its question names them, and the events that show them."""


class EndlessAnswers:
    """A model that says a word twice a second, or nothing, or calls a tool without an end, until it is let go."""

    def __init__(self) -> None:
        self.is_over = False

    async def behave(self, exchange: Exchange) -> None:
        """Answer one request."""
        messages = exchange.received.body["messages"]
        point, is_tool = str(messages[-1]["content"]), "You are Knowledge" in str(messages[0]["content"])
        await exchange.open_stream()
        if point == "tool call" and not is_tool and not self.is_over:
            arguments = json.dumps({"message": "Wait."})
            await exchange.event(chunk(tool_delta(0, id="call-1", name="ask_knowledge", arguments=arguments)))
            await exchange.event(chunk({}, "tool_calls"))
        else:
            while not self.is_over:
                if point == "answer":
                    await exchange.event(chunk({"content": "word "}))
                await asyncio.sleep(0.5)
            await exchange.event(chunk({"content": "Over."}))
            await exchange.event(chunk({}, "stop"))
        await exchange.event("[DONE]")
        await exchange.close_stream()


@dataclass(frozen=True)
class Place:
    """A running product, and the token of a user."""

    cloud: RunningCloud
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class Waiting:
    """A client that notes when its answer begins, and when the first event after the kill arrives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.point = list(POINTS)[number % len(POINTS)]
        self.thread_id = str(uuid.uuid4())
        self.start_event = asyncio.Event()
        self.arrival_event = asyncio.Event()
        self.next_at: float | None = None
        self.heard_at = 0.0
        self.last_seq = 0

    async def hit_or_spared(self, killed_at: float) -> None:
        """Wait for the first event of a successor, or for one of the old worker long after the kill."""
        while self.next_at is None and self.heard_at < killed_at + SPARED_SECONDS:
            self.arrival_event.clear()
            await self.arrival_event.wait()

    def take(self, event: dict[str, Any]) -> bool:
        """Note an event; whether it is the first of a successor."""
        self.arrival_event.set()
        metadata = event.get("metadata", {})
        if event["type"] == POINTS[self.point]:
            self.start_event.set()
        if metadata.get("attempt", 1) > 1:
            self.next_at = time.monotonic()
            return True
        self.heard_at = time.monotonic()
        self.last_seq = max(self.last_seq, metadata.get("seq") or 0)
        return False


async def measure_websocket(location: Place, waiting: Waiting) -> None:
    """Send a message and wait."""
    async with connect_with(location.cloud.socket_url, [SUBPROTOCOL, location.token]) as connection:
        message = {"action": "message", "threadId": waiting.thread_id, "messageId": "m-1", "content": waiting.point}
        await connection.send(json.dumps(message))
        with contextlib.suppress(ConnectionClosed):
            async for frame in connection:
                for event in parse_events(frame):
                    if waiting.take(event):
                        return


async def measure_sse(location: Place, waiting: Waiting, served_by: str) -> None:
    """Run an agent over HTTP; when the stream breaks, come back."""
    follows, pause = waiting.number % 2 == 0, EVENT_SOURCE_SECONDS
    body = run_input(waiting.point, thread_id=waiting.thread_id, message_id="m-1")
    url, method, path, headers = served_by, "POST", "/v1/runs", location.headers
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as client:
        while waiting.next_at is None:
            content = body if method == "POST" else None
            with contextlib.suppress(httpx.HTTPError):
                async with client.stream(method, f"{url}{path}", headers=headers, json=content) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("retry: "):
                            pause = int(line[7:]) / 1000
                        if line.startswith("data: ") and waiting.take(json.loads(line[6:])):
                            return
            await asyncio.sleep(pause if follows else AGAIN_SECONDS)
            if not waiting.start_event.is_set():
                continue
            url = location.cloud.url
            if follows:
                method, path = "GET", f"/v1/threads/{waiting.thread_id}/events"
                headers = {**location.headers, "Last-Event-ID": str(waiting.last_seq)}


@contextmanager
def web_app(environment: dict[str, str]) -> Iterator[tuple[str, Callable[[], None]]]:
    """The streaming web app in a separate process, as the Lambda Web Adapter runs it: its address, and its end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = ROOT / "functions" / "streams"
    process = subprocess.Popen(
        [folder / "run.sh"],
        cwd=folder,
        env={
            **os.environ,
            **environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LAMBDA_TASK_ROOT": str(folder),
            "LAMBDA_RUNTIME_DIR": str(ROOT / "shared"),
            "AWS_LWA_PORT": str(port),
        },
        start_new_session=True,
    )

    def kill() -> None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]) if children else process.pid, signal.SIGKILL)

    try:
        url = f"http://127.0.0.1:{port}"
        yield url, kill
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@asynccontextmanager
async def running(*work: Any) -> AsyncIterator[None]:
    """Do all this work beside the block."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def do_later(seconds: float, work: Any) -> None:
    """Do the work then."""
    await asyncio.sleep(seconds)
    await work


async def kill_and_measure(clients: list[tuple[Waiting, Any]], kill: Any) -> list[float]:
    """Let the clients begin, kill, and return the seconds from then to the next event of each that was hit."""
    chance = random.Random(1)  # noqa: S311 - a schedule, not a secret
    async with running(*(do_later(chance.uniform(0, SPREAD_SECONDS), work) for _, work in clients)):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(waiting.start_event.wait() for waiting, _ in clients))
            await asyncio.sleep(1)
            at = time.monotonic()
            await asyncio.to_thread(kill)
            await asyncio.gather(*(waiting.hit_or_spared(at) for waiting, _ in clients))
    return [waiting.next_at - at for waiting, _ in clients if waiting.next_at is not None]


async def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds to the next event, by the way in which clients wait for it."""
    answers = EndlessAnswers()
    results: dict[str, list[float]] = {"WebSocket": [], "SSE": []}
    async with AsyncExitStack() as stack:
        model = stack.enter_context(FaultModel(otherwise=answers.behave))
        settings = {"BATON_LOCAL_WORKER_PROCESSES": "2", "BATON_LOCAL_WORKERS": str(CONVERSATIONS * 2)}
        cloud = stack.enter_context(RunningCloud(model.base_url, settings))
        location = Place(cloud, cloud.token(TENANT, "ada"))
        for _ in range(rounds):
            answers.is_over = False
            waitings = [Waiting(number) for number in range(CONVERSATIONS)]
            clients = [(waiting, measure_websocket(location, waiting)) for waiting in waitings]
            results["WebSocket"] += await kill_and_measure(clients, lambda: cloud.kill_workers(1))
            with web_app(cloud.environment) as (url, kill):
                waitings = [Waiting(number) for number in range(CONVERSATIONS)]
                clients = [(waiting, measure_sse(location, waiting, url)) for waiting in waitings]
                results["SSE"] += await kill_and_measure(clients, kill)
            answers.is_over = True
            await asyncio.sleep(3)  # whatever still answers comes to its end
    return results


def report(results: dict[str, list[float]]) -> str:
    """A row for each way."""
    rows = [
        (way, len(seconds), statistics.median(seconds), percentile(seconds, 0.95), max(seconds))
        for way, seconds in results.items()
    ]
    return format_table(["kill -9 to the next event, seconds", "kills", "p50", "p95", "longest"], rows)


def percentile(values: list[float], share: float) -> float:
    """The smallest value that so many of the others do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * len(ordered) + 0.499) - 1)]
