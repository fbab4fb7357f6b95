"""The CPU time of turns over SSE by library and function: ``python -m benchmarks.turn_profile``.

The local cloud runs in this process, and the thread that serves requests and turns is profiled by its own CPU time, so
that a busy machine changes little. Profiling takes as long again as the calls that it counts: compare shares only.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import pstats
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from baton_local.cloud import LocalCloud
from baton_local.environment import applied
from baton_local.root import ROOT
from benchmarks.report import machine, table
from benchmarks.turn_latency import KEY, MODEL, TENANT, USER, OverSse, model_endpoint

Function = tuple[str, int, str]
"""File, line and name, as ``pstats`` has them."""
Callers = Mapping[Function, tuple[int, int, float, float]]
Stats = Mapping[Function, tuple[int, int, float, float, Callers]]
"""For each function its calls, own seconds, seconds with the functions that it calls, and its callers."""
ROOTS = [Path(httpx.__file__).parents[1], ROOT / "shared", ROOT, Path(os.__file__).parent]
"""Folders of libraries, those within others first."""


def measure(turns: int, threads: int) -> Stats:
    """Run ``turns`` turns on ``threads`` conversations after two turns on each, and return their profile."""
    profile = cProfile.Profile(time.thread_time)
    with model_endpoint() as model_url:
        chosen = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": KEY, "BATON_CHAT_MODEL": MODEL}
        with applied(chosen), _served() as (url, token, call):
            headers = {"Authorization": f"Bearer {token}"}

            async def run() -> None:
                async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False) as client:
                    way = OverSse(client, threads)
                    for number in range(2 * threads):
                        await way.turn(number % threads)
                    call(profile.enable)
                    for number in range(turns):
                        await way.turn(number % threads)
                    call(profile.disable)

            asyncio.run(run())
    stats: Any = pstats.Stats(profile)
    found: Stats = stats.stats
    return found


@contextmanager
def _served() -> Iterator[tuple[str, str, Callable[[Callable[[], object]], None]]]:
    """Start a local cloud; yield its URL, a token, and a function that calls another on the server's thread."""
    cloud = LocalCloud(port=0, documentation=False)
    cloud.start()

    def call(function: Callable[[], object]) -> None:
        called = threading.Event()

        def carry_out() -> None:
            function()
            called.set()

        assert cloud._server is not None  # noqa: S101 - it serves
        cloud._server.call(carry_out)
        called.wait()

    try:
        yield cloud.url, cloud.token(TENANT, USER), call
    finally:
        cloud.stop()


def by_library(stats: Stats) -> dict[str, float]:
    """Return the own seconds of each library's functions. Those of built-in functions count for their callers."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for function, measured in stats.items():
        own, callers = measured[2], measured[4]
        library = _library(function[0])
        if library is not None:
            seconds[library] += own
            continue
        for caller, within in callers.items():
            seconds[_library(caller[0]) or "built-in functions"] += within[2]
    return seconds


def _library(file: str) -> str | None:
    """Return the library of a file; None for what Python itself has built in."""
    for root in ROOTS:
        if Path(file).is_relative_to(root):
            return Path(file).relative_to(root).parts[0].removesuffix(".py")
    return None


def report(stats: Stats, turns: int, most: int) -> str:
    """Return two tables: the share of each library, and the functions that take most, with all that they call."""
    seconds = by_library(stats)
    whole = sum(seconds.values())
    ranked = sorted(seconds.items(), key=lambda each: -each[1])
    libraries = [(name, f"{100 * own / whole:.1f}") for name, own in ranked[:most]]
    ours = [(each, row) for each, row in stats.items() if _library(each[0]) in ("baton", "baton_local")]
    ours.sort(key=lambda each: -each[1][3])
    functions = [
        (f"{Path(file).relative_to(ROOT)}:{name}", f"{calls / turns:.1f}", f"{100 * within / whole:.1f}")
        for (file, _, name), (_, calls, _, within, _) in ours[:most]
    ]
    return (
        f"{table(['library', 'share, %'], libraries)}\n\n"
        f"{table(['function of Baton', 'calls a turn', 'share with what it calls, %'], functions)}"
    )


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_profile", description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="profiled turns (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=10, help="conversations (default: %(default)s)")
    parser.add_argument("--most", type=int, default=30, help="rows of each table (default: %(default)s)")
    arguments = parser.parse_args(given)
    stats = measure(arguments.turns, arguments.threads)
    print(f"Measured on {machine()}, {arguments.turns} turns.\n")
    print(report(stats, arguments.turns, arguments.most))


if __name__ == "__main__":
    main()
