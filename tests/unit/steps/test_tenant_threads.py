"""Computations in threads that tenants share: a bounded number for each, in turns, and none that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from baton.concurrency import tasks as concurrency
from baton.concurrency.tasks import LARGE, TenantThreads, check_cancelled, off_loop, work_for
from baton.domain.schemas.json_schema import find_argument_problem


class Gate:
    """Work that waits until the gate opens, and records the name of each start."""

    def __init__(self) -> None:
        self.starts: list[str] = []
        self._opened = threading.Semaphore(0)
        self._began = threading.Semaphore(0)

    def work(self, name: str) -> str:
        self.starts.append(name)
        self._began.release()
        self._opened.acquire()
        return name

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self._began.acquire(timeout=30)

    def let_go(self, count: int) -> None:
        self._opened.release(count)


@pytest.fixture
def gate() -> Iterator[Gate]:
    instance = Gate()
    yield instance
    instance.let_go(1_000)


def test_a_tenant_with_much_work_leaves_threads_to_others(gate: Gate) -> None:
    threads = TenantThreads(4, per_tenant=2)
    work_for("busy")
    floods = [threads.submit(gate.work, "busy") for _ in range(50)]
    gate.wait_for(2)
    assert gate.starts == ["busy"] * 2
    work_for("other")
    mine = threads.submit(gate.work, "other")
    gate.wait_for(1)
    assert gate.starts == ["busy", "busy", "other"]
    gate.let_go(51)
    assert [future.result(30) for future in (*floods, mine)] == ["busy"] * 50 + ["other"]


def test_tenants_with_waiting_work_take_turns(gate: Gate) -> None:
    threads = TenantThreads(1, per_tenant=1)
    futures = []
    for tenant, count in (("a", 3), ("b", 2), ("c", 1)):
        work_for(tenant)
        futures += [threads.submit(gate.work, tenant) for _ in range(count)]
    gate.let_go(6)
    for future in futures:
        future.result(30)
    assert gate.starts == ["a", "a", "b", "c", "a", "b"]  # the first began before others waited


def test_a_failure_is_raised_and_frees_the_thread() -> None:
    threads = TenantThreads(1, per_tenant=1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(30)
    assert threads.submit(len, "ab").result(30) == 2


async def test_work_for_a_cancelled_caller_that_waits_never_begins(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "_threads", TenantThreads(1, per_tenant=1))
    first = asyncio.ensure_future(off_loop(LARGE, gate.work, "first"))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(off_loop(LARGE, gate.work, "second"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.let_go(2)
    assert await first == "first"
    assert await off_loop(LARGE, len, "ab") == 2
    assert gate.starts == ["first"]


async def test_work_that_has_begun_ends_with_its_caller() -> None:
    has_begun, end = threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        try:
            while True:
                check_cancelled()
        finally:
            end.set()

    task = asyncio.ensure_future(off_loop(LARGE, work))
    await asyncio.to_thread(has_begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(end.wait, 30)


async def test_a_check_by_a_schema_ends_with_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, cancelled, end = threading.Event(), threading.Event(), threading.Event()
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1
        if steps == 10:
            has_begun.set()
            assert cancelled.wait(30)
        check_cancelled()

    monkeypatch.setattr("baton.domain.schemas.schema_validator.check_cancelled", count)

    def check() -> None:
        try:
            find_argument_problem({"items": {"type": "object"}}, [{}] * 10_000)
        finally:
            end.set()

    task = asyncio.ensure_future(off_loop(LARGE, check))
    await asyncio.to_thread(has_begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    cancelled.set()
    assert await asyncio.to_thread(end.wait, 30)
    assert steps == 10
