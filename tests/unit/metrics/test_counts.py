"""Counts belong to one invocation, and are written down once, when it ends."""

from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from baton.api.application import create_app
from baton.api.http.middleware import CountedRequests
from baton.composition import metrics
from baton.composition.metrics import observed, write_metrics
from baton.composition.startup import event_loop
from baton.domain.metrics import Metric, collect_counts, count, count_failures
from tests.unit.metrics.written import ROOT, counts, lines

Written = list[dict[Metric, int | Sequence[int]]]


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_read_stack_name", lambda: "baton-test")
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)


def test_an_invocation_writes_one_line_with_all_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    @observed
    def handler(event: Any, context: Any) -> str:
        count(Metric.SWEEP_FAILURES, 2)
        count(Metric.SWEEP_FAILURES)
        count(Metric.AUDIT_RECORDS_LOST)
        return "done"

    assert handler({}, None) == "done"
    output = capsys.readouterr().out
    assert len(lines(output)) == 1
    assert counts(output) == {"SweepFailures": 3, "AuditRecordsLost": 1}


def test_an_invocation_that_fails_writes_its_counts_too(capsys: pytest.CaptureFixture[str]) -> None:
    @observed
    def handler(event: Any, context: Any) -> None:
        count(Metric.CONNECTIONS_REFUSED)
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        handler({}, None)
    assert counts(capsys.readouterr().out) == {"ConnectionsRefused": 1, "InternalFaults": 1}


def test_every_time_of_an_invocation_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with collect_counts(write_metrics):
        for milliseconds in (5, 70, 900):
            count(Metric.TIME_IN_QUEUE, milliseconds)
        count(Metric.TURNS)
    [line] = lines(capsys.readouterr().out)
    assert (line["TimeInQueue"], line["Turns"]) == ([5, 70, 900], [1])


def test_invocations_at_the_same_time_keep_their_counts_apart() -> None:
    """On this machine they share a process, and an event loop."""
    together = threading.Barrier(4)

    async def work(number: int) -> None:
        for _ in range(number):
            await asyncio.sleep(0)
            count(Metric.QUEUED_TURNS_FAILED)
            await asyncio.to_thread(count, Metric.AUDIT_RECORDS_LOST)

    def invocation(number: int) -> Written:
        reported: Written = []
        with collect_counts(lambda counts: reported.append(dict(counts))):
            together.wait()
            event_loop.run(work(number))
        return reported

    with ThreadPoolExecutor(4) as threads:
        reported = list(threads.map(invocation, range(1, 5)))
    assert reported == [[{Metric.QUEUED_TURNS_FAILED: n, Metric.AUDIT_RECORDS_LOST: n}] for n in range(1, 5)]


async def test_work_that_outlasts_its_invocation_is_reported_when_it_happens() -> None:
    reported: Written = []
    over = asyncio.Event()

    async def work() -> None:
        await over.wait()
        count(Metric.INTERNAL_FAULTS)

    with collect_counts(lambda counts: reported.append(dict(counts))):
        task = asyncio.ensure_future(work())
        count(Metric.REQUESTS_FAILED)
    assert reported == [{Metric.REQUESTS_FAILED: 1}]
    over.set()
    await task
    assert reported == [{Metric.REQUESTS_FAILED: 1}, {Metric.INTERNAL_FAULTS: 1}]


def test_nothing_is_logged_without_a_cause_or_outside_of_an_invocation() -> None:
    reported: Written = []
    count(Metric.INTERNAL_FAULTS)
    with collect_counts(lambda counts: reported.append(dict(counts))):
        pass
    assert reported == []


def test_only_failures_are_counted() -> None:
    reported: Written = []
    with collect_counts(lambda counts: reported.append(dict(counts))):
        for error in (KeyError("k"), ValueError("v"), KeyError("k")):
            with pytest.raises(type(error)), count_failures(Metric.DEAD_TURNS_FAILED, but=(ValueError,)):
                raise error
        with count_failures(Metric.DEAD_TURNS_FAILED):
            pass
    assert reported == [{Metric.DEAD_TURNS_FAILED: 2}]


async def test_a_request_writes_down_what_went_wrong_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    def fail_to_build() -> Any:
        raise RuntimeError("the services cannot be built")

    transport = httpx.ASGITransport(app=CountedRequests(create_app(fail_to_build)), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
        assert (await client.get("/health")).status_code == 200
        assert lines(capsys.readouterr().out) == []
        response = await client.get("/v1/threads", headers={"Authorization": "Bearer x"})
    assert response.status_code == 500
    output = capsys.readouterr().out
    assert len(lines(output)) == 1
    assert counts(output) == {"InternalFaults": 1, "RequestsFailed": 1}


def test_no_tenant_and_no_conversation_is_a_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    """Every value of a dimension is a separate metric, and is paid for."""
    write_metrics(dict.fromkeys(Metric, 1))
    [line] = lines(capsys.readouterr().out)
    assert line.keys() - {metric.value for metric in Metric} == {"_aws", "stack", "service", "level", "timestamp"}


def find_swallowing_handlers() -> Iterator[tuple[str, ast.ExceptHandler]]:
    """Yield each exception handler of the product that logs the exception and does not raise it."""
    for path in sorted([*(ROOT / "shared/baton").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and calls(node, LOGGED) and not raises_again(node):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", node


LOGGED = {"exception", "warning", "error", "critical"}


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether the handler ends with `raise` alone: something else handles the exception."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def calls(node: ast.AST, names: set[str]) -> bool:
    """Return whether the node calls a function or method with one of these names."""
    return any(
        isinstance(item, ast.Call) and getattr(item.func, "attr", getattr(item.func, "id", None)) in names
        for item in ast.walk(node)
    )


def test_what_is_caught_and_logged_is_counted() -> None:
    handlers = dict(find_swallowing_handlers())
    assert len(handlers) >= 15
    uncounted = [where for where, handler in handlers.items() if not calls(handler, {"count", "report_failure"})]
    assert uncounted == [], "These log a failure that no alarm can see: count it"


def test_every_function_writes_its_counts_down() -> None:
    for path in sorted((ROOT / "functions").glob("*/*.py")):
        text = path.read_text()
        assert "@observed\n" in text or "build_short_app()" in text or "build_streams_app()" in text, path
