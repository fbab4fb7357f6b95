"""A pytest plugin that records and prints the processor time and wall time of each file of tests, in seconds.

The time of a file includes fixtures that it is the first to use, and processes that it starts or keeps busy. Files are
compared by processor time, because wall times depend on the machine's load. Under pytest-xdist, the process that
distributes the tests adds the times up.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import psutil
import pytest

RECORD = ".baton/durations.json"
"""The file with the times of the last run of more than ``PRINTED`` files, below the project's folder."""
PRINTED = 30
COLLECTING = "(imports and collection)"

cpu_seconds: defaultdict[str, float] = defaultdict(float)
"""Processor time by file."""
wall_seconds: defaultdict[str, float] = defaultdict(float)
"""Wall time by file."""
_last_end = time.perf_counter()
_spent = 0.0


def pytest_collection_finish(session: pytest.Session) -> None:
    """Charge imports and collection to a separate entry."""
    _charge(COLLECTING)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Charge the time since the last file ended to this file, if the next test belongs to another file."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        _charge(item.path.relative_to(item.config.rootpath).as_posix())
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send this process's seconds to the process that adds them up."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["durations"] = [dict(cpu_seconds), dict(wall_seconds)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the seconds of another process."""
    measured: Iterable[Mapping[str, float]] = getattr(node, "workeroutput", {}).get("durations", ())
    for total, more in zip((cpu_seconds, wall_seconds), measured, strict=False):
        for name, seconds in more.items():
            total[name] += seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the record, and print the files and folders that took the most processor time."""
    config = terminalreporter.config
    files = {name: {"cpu": round(cpu_seconds[name], 2), "wall": round(wall_seconds[name], 2)} for name in cpu_seconds}
    if len(files) <= PRINTED:
        return
    record = config.rootpath / RECORD
    record.parent.mkdir(exist_ok=True)
    record.write_text(json.dumps(files, indent=1, sort_keys=True))
    terminalreporter.section(f"processor seconds, wall seconds ({RECORD})")
    for title, folded in (("folders", _by_folder()), ("files", {name: name for name in files})):
        terminalreporter.write_line(f"{title}:")
        sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for name, location in folded.items():
            sums[location][0] += cpu_seconds[name]
            sums[location][1] += wall_seconds[name]
        most = sorted(sums.items(), key=lambda entry: -entry[1][0])[:PRINTED]
        for location, (cpu, wall) in most:
            terminalreporter.write_line(f"{cpu:8.1f} {wall:8.1f}  {location}")
    terminalreporter.write_line(f"{sum(cpu_seconds.values()):8.1f} {sum(wall_seconds.values()):8.1f}  all")


def _charge(name: str) -> None:
    global _last_end, _spent
    now, spent = time.perf_counter(), _tree_seconds()
    cpu_seconds[name] += max(0.0, spent - _spent)
    wall_seconds[name] += now - _last_end
    _last_end, _spent = now, max(spent, _spent)


def _tree_seconds() -> float:
    """Return the processor time of this process and of all its children, including those that have ended."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:  # the process has just ended
            continue
    return total


def _by_folder() -> dict[str, str]:
    return {name: str(PurePosixPath(name).parent) if "/" in name else name for name in cpu_seconds}
