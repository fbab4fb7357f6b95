"""Baton's turns compared with a plain chat loop's in one run: ``python -m benchmarks.against_plain``.

The plain loop, the local cloud, the model's endpoint and DynamoDB Local are processes; the first two share the last.
Turns of the plain loop, over SSE and over WebSocket alternate. A relay before DynamoDB may delay each request.
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
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import httpx
import psutil  # type: ignore[import-untyped]

from baton.adapters.agent_files import AgentFiles
from baton_local.engines.process import start_on_free_port
from baton_local.root import ROOT
from benchmarks.local_table import local_table
from benchmarks.plain_loop import ENDPOINT, MODEL_URL, SYSTEM_PROMPT, TABLE
from benchmarks.report import machine, table
from benchmarks.turn_latency import Timing, Way, answers, baton_ways, check, local_cloud, model_endpoint
from benchmarks.workload import QUESTION


class PlainLoop:
    """The caller of the plain loop."""

    def __init__(self, client: httpx.AsyncClient, threads: int) -> None:
        self._client = client
        self._threads = [str(uuid.uuid4()) for _ in range(threads)]

    async def turn(self, thread: int) -> Timing:
        first, text = 0.0, ""
        began = time.perf_counter()
        body = {"thread": self._threads[thread], "text": QUESTION}
        async with self._client.stream("POST", "/chat", json=body) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    first = first or time.perf_counter() - began
                    text += json.loads(line.removeprefix("data: "))["delta"]
        whole = time.perf_counter() - began
        check(text)
        return Timing(first, whole)


@dataclass
class Measured:
    """The turns of one way, and the CPU time of its server in each, in seconds."""

    timings: list[Timing] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


async def measure(turns: int, threads: int, warm_up: int, delay: float) -> dict[str, Measured]:
    """Run ``turns`` turns each way, alternating, with ``delay`` seconds before each request to DynamoDB.

    ``warm_up`` is the number of turns on each thread before the measured ones.
    """
    async with _started(threads, delay) as ways:
        measured = {name: Measured() for name in ways}
        names = list(ways)
        for number in range(warm_up * threads + turns):
            for name in (*names[number % len(names) :], *names[: number % len(names)]):
                way, cpu_seconds = ways[name]
                before = cpu_seconds()
                timing = await way.turn(number % threads)
                if number >= warm_up * threads:
                    measured[name].timings.append(timing)
                    measured[name].cpu.append(cpu_seconds() - before)
        return measured


def report(measured: dict[str, Measured]) -> str:
    """Return a table. Ratios are the medians of those to the plain turn of the same round."""
    plain = next(iter(measured.values()))
    rows = []
    for name, of_way in measured.items():
        first = [timing.first_token for timing in of_way.timings]
        whole = [timing.whole for timing in of_way.timings]
        cpu = 1_000 * statistics.fmean(of_way.cpu)  # the system counts in steps of 10 ms
        rows.append(
            (
                name,
                1_000 * statistics.median(first),
                _ratio(first, [timing.first_token for timing in plain.timings]),
                1_000 * statistics.median(whole),
                _ratio(whole, [timing.whole for timing in plain.timings]),
                cpu,
                max(0.0, 1_000 * statistics.fmean(whole) - cpu),
            )
        )
    head = ["milliseconds", "first token", "ratio", "whole turn", "ratio", "CPU of the server", "waiting"]
    return table(head, rows)


def _ratio(values: Sequence[float], plain: Sequence[float]) -> str:
    return f"{statistics.median([value / base for value, base in zip(values, plain, strict=True)]):.2f}"


Server = tuple[Way, Callable[[], float]]
"""A way to ask, and what returns the CPU time of the process that answers."""


@asynccontextmanager
async def _started(threads: int, delay: float) -> AsyncIterator[dict[str, Server]]:
    async with AsyncExitStack() as stack:
        endpoint, name = stack.enter_context(local_table())
        if delay:
            endpoint = stack.enter_context(_slow(endpoint, delay))
        model_url = stack.enter_context(model_endpoint())
        plain_url = stack.enter_context(_plain_loop(endpoint, name, model_url))
        url = stack.enter_context(local_cloud(model_url, AWS_ENDPOINT_URL_DYNAMODB=endpoint))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=plain_url, timeout=30, trust_env=False))
        baton = await stack.enter_async_context(baton_ways(url, threads))
        of_plain, of_baton = _cpu_of("benchmarks.plain_loop:app"), _cpu_of("baton_local")
        yield {"plain loop": (PlainLoop(client, threads), of_plain)} | {
            name: (way, of_baton) for name, way in baton.items()
        }


@contextmanager
def _plain_loop(endpoint: str, table_name: str, model_url: str) -> Iterator[str]:
    system_prompt = AgentFiles.load(ROOT / "agents", "assistant").default_main().system_prompt
    settings = {ENDPOINT: endpoint, TABLE: table_name, MODEL_URL: model_url, SYSTEM_PROMPT: system_prompt}

    def command(port: int) -> list[str]:
        server = [sys.executable, "-m", "uvicorn", "benchmarks.plain_loop:app"]
        server += ["--port", str(port), "--log-level", "warning", "--no-access-log"]
        return ["env", *(f"{name}={value}" for name, value in settings.items()), *server]

    child, port = start_on_free_port("the plain loop", command, lambda port: answers(f"http://127.0.0.1:{port}/"))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.stop()


@contextmanager
def _slow(endpoint: str, seconds: float) -> Iterator[str]:
    """Delay requests to ``endpoint``, and yield the address that does."""
    target = endpoint.rpartition(":")[2]

    def command(port: int) -> list[str]:
        return [sys.executable, "-m", "benchmarks.slow_storage", str(port), target, str(seconds)]

    child, port = start_on_free_port("the relay", command, lambda _: True)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.stop()


def _cpu_of(module: str) -> Callable[[], float]:
    """Return what returns the CPU seconds of the child process that runs ``module``."""
    found = [each for each in psutil.Process().children(recursive=True) if module in each.cmdline()]
    process = found[-1]  # the one before is its guard, which has the same arguments

    def read() -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    return read


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_plain", description=__doc__)
    parser.add_argument("--turns", type=int, default=100, help="measured turns each way (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=10, help="conversations each way (default: %(default)s)")
    parser.add_argument(
        "--warm-up", type=int, default=2, help="turns on each before the measured ones (default: %(default)s)"
    )
    parser.add_argument(
        "--delays", default="0,5", help="milliseconds before each request to DynamoDB, one run each (%(default)s)"
    )
    arguments = parser.parse_args()
    print(f"Measured on {machine()}; load average before it {os.getloadavg()[0]:.1f}.")
    for delay in arguments.delays.split(","):
        turns, seconds = arguments.turns, float(delay) / 1_000
        measured = asyncio.run(measure(turns, arguments.threads, arguments.warm_up, seconds))
        print(f"\n{turns} turns each way, {delay} ms before each request to DynamoDB:\n")
        print(report(measured))


if __name__ == "__main__":
    main()
