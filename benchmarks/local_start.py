"""CPU time and memory of ``make run``: ``python -m benchmarks.local_start [--runs 3]``.

Each run starts ``make run`` on a free port and waits until it says that it runs, then until it rests: it has read its
documentation and uses at most 2 % of a core. The first table has the CPU time of all its processes, user
and system, until both moments, and the time of the first on the clock. The second has the memory at rest of each
process of the last run. PSS counts a page that processes share in equal parts, so the sum is what would be free without
them. Downloads belong to a first start, so a start that is not counted comes before the runs.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from baton_local.root import ROOT
from benchmarks.report import table

READY, READ = "Baton is running at", "Baton's documentation:"
REST_SECONDS, REST_SHARE = 3.0, 0.02
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Start:
    """One start of the local cloud."""

    ready_seconds: float
    ready_cpu: float
    """CPU seconds of all processes until requests are served."""
    rest_cpu: float
    """CPU seconds until nothing is left to do."""
    memory: dict[str, int]
    """Bytes of each process at rest."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    _measure()
    starts = [_measure() for _ in range(arguments.runs)]
    rows = [
        (name, *(f"{read(start):.1f}" for start in starts), f"{min(map(read, starts)):.1f}")
        for name, read in (
            ("ready, seconds", lambda start: start.ready_seconds),
            ("ready, CPU seconds", lambda start: start.ready_cpu),
            ("at rest, CPU seconds", lambda start: start.rest_cpu),
            ("at rest, MB", lambda start: _megabytes(sum(start.memory.values()))),
        )
    ]
    print(f"{os.cpu_count()} cores, {sys.platform}\n")
    print(table(("", *(f"start {number + 1}" for number in range(len(starts))), "least"), rows))
    print()
    print(
        table(("process", "PSS, MB"), [(name, f"{_megabytes(size):.0f}") for name, size in starts[-1].memory.items()])
    )


def _measure() -> Start:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("BATON_", "AWS_", "OPENAI_"))
    }
    environment = inherited | {"PORT": "0", "PYTHONUNBUFFERED": "1"}
    began = time.monotonic()
    child = subprocess.Popen(
        ["make", "-s", "run"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # so that the end reaches what make has started
    )
    try:
        _wait_for(child, READY)
        ready_seconds = time.monotonic() - began
        ready_cpu = _cpu(child.pid)
        _wait_for(child, READ)
        _wait_for_rest(child.pid)
        return Start(ready_seconds, ready_cpu, _cpu(child.pid), _memory(child.pid))
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.communicate(timeout=STOP_SECONDS)


def _wait_for(child: subprocess.Popen[str], beginning: str) -> None:
    for line in child.stdout or ():
        if line.startswith(beginning):
            return
    raise SystemExit(f"It ended with {child.wait()} before it said: {beginning}")


def _wait_for_rest(pid: int) -> None:
    """Wait until the processes are idle."""
    before = _cpu(pid)
    while True:
        time.sleep(REST_SECONDS)
        now = _cpu(pid)
        if now - before < REST_SHARE * REST_SECONDS:
            return
        before = now


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process, of its children and of their children, with those that have ended."""
    return sum(sum(each.cpu_times()[:4]) for each in _processes(pid))


def _memory(pid: int) -> dict[str, int]:
    return {f"{_name(each)} ({each.pid})": each.memory_full_info().pss for each in _processes(pid)}


def _processes(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _name(process: psutil.Process) -> str:
    command: list[str] = process.cmdline()
    if "-m" in command:
        return command[command.index("-m") + 1]
    script = next((Path(part).name for part in command[1:] if part.endswith(".py")), None)
    return script or Path(command[0]).name


def _megabytes(size: float) -> float:
    return size / 1024 / 1024


if __name__ == "__main__":
    main()
