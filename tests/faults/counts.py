"""Counts the generated cases of a session, and their events: a pytest plugin that prints them at the end.

Under pytest-xdist each process counts for itself, and the first one adds up.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

SERVICES = {
    "dynamodb": "DynamoDB",
    "s3": "S3",
    "sqs": "SQS",
    "apigatewaymanagementapi": "connections",
    "model": "the model",
    "search": "search",
    "embedder": "the embedder",
}
USUAL = 27
"""The number of generated cases to which the numbers of other cases are in proportion."""
GENERATED = int(os.environ.get("BATON_FAULT_CASES", 12))
"""The number of cases and of schedules that a session generates in memory."""
EVENTS = {
    "kill -9": "kills",
    "freeze": "freezes",
    "disconnect": "disconnects",
    "jump": "clock jumps",
    "duplicate": "duplicate deliveries",
    "reorder": "reorderings",
    "cancel": "cancels",
    "close": "closes",
    "conflict": "conflicting repeats",
    "episode": "episodes",
}

cases: Counter[str] = Counter()
"""Generated cases, by what they ran on."""
store_runs: Counter[str] = Counter()
"""Runs of the stores' state machine, by store."""
state_runs: Counter[str] = Counter()
"""Runs of the conversations' state machine, by store."""
faults: Counter[str] = Counter()
"""Events, in the words of their causes."""
messages: Counter[str] = Counter()
"""Messages that somebody sent, by what they were sent in."""

callbacks: Counter[str] = Counter()
"""Callbacks of event loops that were watched, and the longest of them in microseconds of CPU time."""


def scale(count: int) -> int:
    """Return ``count`` for a usual session, and in proportion for one that generates more or fewer cases."""
    return max(1, count * GENERATED // USUAL)


def note_watch(count: int, longest_seconds: float) -> None:
    """Note what a watchdog has seen."""
    callbacks["count"] += count
    callbacks["longest"] = max(callbacks["longest"], int(longest_seconds * 1e6))


def summarise(happened: Counter[str]) -> Counter[str]:
    """Return the summary: events, and the faults of each service."""
    counter: Counter[str] = Counter()
    for name, count in happened.items():
        counter[_in_words(name)] += count
    return counter


def summary() -> list[str]:
    """A few lines to read."""
    lines = []
    if cases:
        together = summarise(faults)
        ran = ", ".join(f"{what} {count:,}" for what, count in sorted(cases.items()))
        events = ", ".join(f"{name} {together.pop(name):,}" for name in EVENTS.values() if name in together)
        rest = ", ".join(f"{name} {count:,}" for name, count in together.most_common())
        lines.append(f"fault suite: {cases.total():,} generated cases ({ran}), messages {messages.total():,}, {events}")
        lines.append(f"requests that failed, were throttled or lost their answers: {rest}")
    for machine, runs in (("stores", store_runs), ("conversations", state_runs)):
        ran = ", ".join(f"{store} {count:,}" for store, count in sorted(runs.items()))
        lines += [f"state machine of the {machine}: {runs.total():,} runs ({ran})"] if runs else []
    if callbacks:
        longest = callbacks["longest"] / 1000
        lines.append(f"watched event loops: {callbacks['count']:,} callbacks, the longest {longest:.0f} ms of CPU time")
    return lines


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand this process's counts to the one that sums up."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fault_counts"] = [dict(counter) for counter in _counters()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what another process has counted."""
    counted: Iterable[dict[str, int]] = getattr(node, "workeroutput", {}).get("fault_counts", ())
    for counter, more in zip(_counters(), counted, strict=False):
        counter.update(more)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts, if there are any."""
    lines = summary()
    if lines:
        terminalreporter.section("faults")
    for line in lines:
        terminalreporter.write_line(line)


def _counters() -> tuple[Counter[str], ...]:
    return cases, store_runs, state_runs, faults, messages, callbacks


def _in_words(name: str) -> str:
    for event, words in EVENTS.items():
        if name.startswith(event):
            return words
    for service, words in SERVICES.items():
        if name.startswith(f"{service} ") or f" {service}." in name:
            return words
    return name
