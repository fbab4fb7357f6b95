"""Threads for computations that tenants share: none of them may hold all, or wait behind a queue of another one."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Task = tuple["Future[Any]", Callable[[], Any]]

_tenant: ContextVar[str] = ContextVar("tenant_of_work", default="")


def work_for(tenant_id: str) -> None:
    """Name the tenant for which the current task, and what it begins, works from here on."""
    _tenant.set(tenant_id)


class TenantThreads(Executor):
    """A pool of threads. Tenants with waiting work take turns, and one tenant has a bounded number of them."""

    def __init__(self, count: int, *, each: int) -> None:
        """``count`` is the number of threads, ``each`` that which one tenant may hold at once."""
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="work")
        self._count = count
        self._each = each
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[_Task]] = {}
        """Tasks by tenant. The tenant whose turn is next comes first."""
        self._running: Counter[str] = Counter()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function for the tenant that ``work_for`` has named. One that has not begun can be cancelled."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.setdefault(_tenant.get(), deque()).append((future, partial(fn, *args, **kwargs)))
            self._begin()
        return future

    def _begin(self) -> None:
        """Begin as many waiting tasks as may run. The caller holds the lock."""
        while self._running.total() < self._count:
            tenant = next((name for name in self._waiting if self._running[name] < self._each), None)
            if tenant is None:
                return
            tasks = self._waiting.pop(tenant)
            task = tasks.popleft()
            if tasks:
                self._waiting[tenant] = tasks  # behind the others
            self._running[tenant] += 1
            self._pool.submit(self._run, tenant, *task)

    def _run(self, tenant: str, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
                    future.set_exception(error)
        finally:
            with self._lock:
                self._running[tenant] -= 1
                if not self._running[tenant]:
                    del self._running[tenant]
                self._begin()
