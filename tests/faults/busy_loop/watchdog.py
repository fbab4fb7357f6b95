"""A watchdog for event loops: what keeps everybody waiting, and where it was at it.

What counts is the CPU time that one callback takes on its loop's thread, not how long it lasts: a busy machine makes
everything last longer, and nothing work more. The time of the cyclic garbage collector does not count: it walks all
that the test process holds, engines and earlier tests included, and falls on whichever callback comes next. The limit
grows with how slow the machine is at a job that is always the same, measured in the same run.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

LIMIT_SECONDS = 0.05
CALIBRATION_SECONDS = 0.02
"""CPU time of ``_job`` on the machine of the benchmarks."""
SAMPLE_SECONDS = 0.005
LINES = 12


@dataclass(frozen=True)
class Blocked:
    """A callback that took too long."""

    seconds: float
    callback: str
    stacks: tuple[str, ...]
    """The places where it was seen, most often first."""

    def __str__(self) -> str:
        return "\n".join([f"{self.seconds * 1000:.0f} ms in {self.callback}", *self.stacks])


@dataclass
class Watchdog:
    """The observations between ``watching`` and its end."""

    limit_seconds: float
    blocked: list[Blocked] = field(default_factory=list)
    longest_seconds: float = 0.0
    longest: str = ""
    callbacks: int = 0

    def report(self) -> str:
        """Everything that was over the limit, and where."""
        return "\n\n".join(map(str, sorted(self.blocked, key=lambda entry: -entry.seconds)))


@dataclass
class _Running:
    """The callback that a loop's thread is at."""

    thread: int
    began: float
    seen: Counter[str] = field(default_factory=Counter)


class _Collector:
    """CPU seconds that the garbage collector has taken on one thread."""

    def __init__(self, thread: int) -> None:
        self.seconds = 0.0
        self._thread = thread
        self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began


@contextmanager
def watching() -> Iterator[Watchdog]:
    """Watch the event loop of this thread."""
    dog = Watchdog(LIMIT_SECONDS * slowness())
    running: dict[int, _Running] = {}
    over = threading.Event()
    original: Any = asyncio.Handle._run
    watched = threading.get_ident()
    collector = _Collector(watched)

    def run(handle: asyncio.Handle) -> None:
        thread = threading.get_ident()
        if thread != watched:
            original(handle)
            return
        current = running[thread] = _Running(thread, time.monotonic())
        collected = collector.seconds
        began = time.thread_time()
        try:
            original(handle)
        finally:
            took = time.thread_time() - began - (collector.seconds - collected)
            running.pop(thread, None)
            dog.callbacks += 1
            if took > dog.longest_seconds:
                dog.longest_seconds, dog.longest = took, _name(handle)
            if took > dog.limit_seconds:
                stacks = tuple(f"seen {count} times at\n{stack}" for stack, count in current.seen.most_common(3))
                dog.blocked.append(Blocked(took, _name(handle), stacks))

    def look() -> None:
        while not over.wait(SAMPLE_SECONDS):
            for current in list(running.values()):
                frame = sys._current_frames().get(current.thread)
                if frame is not None and time.monotonic() - current.began > SAMPLE_SECONDS:
                    current.seen["".join(traceback.format_stack(frame)[-LINES:])] += 1

    sampler = threading.Thread(target=look, name="watchdog", daemon=True)
    sampler.start()
    gc.callbacks.append(collector)
    asyncio.Handle._run = run  # type: ignore[method-assign, assignment]
    try:
        yield dog
    finally:
        asyncio.Handle._run = original  # type: ignore[method-assign]
        gc.callbacks.remove(collector)
        over.set()
        sampler.join()


def slowness() -> float:
    """The time that this machine takes now, relative to the one of the benchmarks, at least 1."""
    return max(1.0, min(_job() for _ in range(3)) / CALIBRATION_SECONDS)


def _job() -> float:
    """CPU seconds of a little of everything: bytecode, memory, text."""
    began = time.thread_time()
    values = [{"number": number, "text": f"item {number}"} for number in range(20_000)]
    json.loads(json.dumps(values))
    return time.thread_time() - began


def _name(handle: asyncio.Handle) -> str:
    callback: Any = handle._callback  # type: ignore[attr-defined]
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_coro()!r}"
    return f"{callback!r}"
