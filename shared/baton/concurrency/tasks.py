"""Concurrent steps that are always awaited to their end, and computations in threads."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Task = tuple["Future[Any]", Callable[[], Any]]

_tenant: ContextVar[str] = ContextVar("tenant_of_work", default="")


def work_for(tenant_id: str) -> None:
    """Set the tenant for which the current task and the tasks that it begins work from now on."""
    _tenant.set(tenant_id)


class TenantThreads(Executor):
    """A pool of threads that tenants with waiting work use in turn. The threads of each tenant are limited."""

    def __init__(self, count: int, *, per_tenant: int) -> None:
        """``count`` is the number of all threads, ``per_tenant`` the number that one tenant may use at once."""
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="work")
        self._count = count
        self._per_tenant = per_tenant
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[_Task]] = {}
        """The waiting tasks by tenant, ordered by the tenants' turns."""
        self._running: Counter[str] = Counter()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a call in a thread, for the tenant of ``work_for``.

        The call can be cancelled until it has begun. Calls without a tenant count as those of one more tenant.
        """
        future: Future[T] = Future()
        with self._lock:
            self._waiting.setdefault(_tenant.get(), deque()).append((future, partial(fn, *args, **kwargs)))
            self._begin()
        return future

    def _begin(self) -> None:
        """Begin as many waiting tasks as may run. The caller holds the lock."""
        while self._running.total() < self._count:
            tenant = next((name for name in self._waiting if self._running[name] < self._per_tenant), None)
            if tenant is None:
                return
            tasks = self._waiting.pop(tenant)
            task = tasks.popleft()
            if tasks:
                self._waiting[tenant] = tasks  # added at the end, so that the other tenants are next
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


R = TypeVar("R")

LARGE = 64 * 1024
"""The size of an input (bytes, characters or values) from which a thread is used. A thread costs a tenth of a ms."""

_stopped: ContextVar[threading.Event | None] = ContextVar("stopped_work", default=None)
_threads = TenantThreads(4, per_tenant=2)
"""A separate pool, so that calls that hang in another pool do not block it."""


async def gather_all(*steps: Awaitable[Any]) -> list[Any]:
    """Return the results of all steps, or raise the failure of the first step that failed, once every step has ended.

    The first step is the first in the order of ``steps``.

    ``asyncio.gather`` raises at once, and the remaining reads and writes then continue unnoticed by the caller. Unlike
    in ``asyncio.TaskGroup``, a failure does not cancel the other steps, because it would be unknown whether a cancelled
    write has taken effect. If the caller is cancelled, the steps are cancelled too, and awaited.
    """
    tasks = [asyncio.ensure_future(step) for step in steps]
    await _await_end(tasks)
    _notice_failures(tasks)
    return [step.result() for step in tasks]


async def gather_each(items: Iterable[T], step: Callable[[T], Awaitable[R]], *, at_once: int) -> list[R]:
    """Return the results of ``step`` for all items, in their order, with at most ``at_once`` in progress.

    The coroutine of a step is created only when the step begins, so that none remains unawaited after a failure. After
    a failure no further step begins, and the failure is raised once the steps in progress have ended.
    """
    waiting = iter(enumerate(items))
    results: dict[int, R] = {}
    failed = False

    async def work_off() -> None:
        nonlocal failed
        for number, item in waiting:
            if failed:
                return
            try:
                results[number] = await step(item)
            except BaseException:
                failed = True
                raise

    await gather_all(*(work_off() for _ in range(at_once)))
    return [results[number] for number in range(len(results))]


async def stop_all(*steps: asyncio.Future[Any]) -> None:
    """Cancel the steps and wait until all have ended. Failures of steps are not raised."""
    for step in steps:
        step.cancel()
    await _await_end(steps)
    _notice_failures(steps)


async def call_until(
    deadline: float, items: AsyncIterable[T], deal_with: Callable[[T], Awaitable[None]], *, at_once: int
) -> bool:
    """Call ``deal_with`` for items until the ``deadline``, a time of the event loop, at most ``at_once`` concurrently.

    Return whether all items were begun in time. The deadline is checked when an item has been read. All calls that have
    begun are awaited, even if reading the items fails. If the caller is cancelled, the calls are cancelled too.
    ``deal_with`` must not raise.
    """
    loop = asyncio.get_running_loop()
    slots = asyncio.Semaphore(at_once)
    working: set[asyncio.Future[None]] = set()

    def note_end(task: asyncio.Future[None]) -> None:
        working.discard(task)
        slots.release()

    try:
        async for item in items:
            await slots.acquire()
            if loop.time() >= deadline:
                return False
            task = asyncio.ensure_future(deal_with(item))
            working.add(task)
            task.add_done_callback(note_end)
    except asyncio.CancelledError:
        await stop_all(*working)
        raise
    finally:
        await _await_end(working)
    return True


async def _await_end(steps: Iterable[asyncio.Future[Any]]) -> None:
    """Wait until all steps have ended. If the caller is cancelled, cancel the steps and raise once they have ended."""
    futures = set(steps)
    cancelled: asyncio.CancelledError | None = None
    while not all(step.done() for step in futures):
        try:
            await asyncio.wait(futures)
        except asyncio.CancelledError as error:
            cancelled = error
            for step in futures:
                step.cancel()
    if cancelled is not None:
        _notice_failures(futures)
        raise cancelled


def _notice_failures(steps: Iterable[asyncio.Future[Any]]) -> None:
    """Retrieve the exceptions of failed steps, so that asyncio does not log those that nobody raises."""
    for step in steps:
        if not step.cancelled():
            step.exception()


def check_cancelled() -> None:
    """Raise ``concurrent.futures.CancelledError`` in a thread of ``off_loop`` whose caller was cancelled.

    Long computations should call it often.
    """
    stopped = _stopped.get()
    if stopped is not None and stopped.is_set():
        raise CancelledError


async def off_loop(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work`` in a thread if ``size``, the size of its input, is at least ``LARGE``, else directly.

    Return its result. A thread helps for Python code, which releases the interpreter's lock every few milliseconds, and
    for zlib, hashing and tiktoken, which release the lock while they work. It does not help for code that holds the
    lock until it is done, such as JSON parsing: limit its input by ``domain.json_values`` or by bytes instead.

    The threads are shared between tenants, see ``work_for``. If the caller is cancelled, work that has begun in a
    thread ends at its next call of ``check_cancelled``.
    """
    if size < LARGE:
        return work(*args, **kwargs)
    context, stopped = copy_context(), threading.Event()
    context.run(_stopped.set, stopped)
    in_context = partial(context.run, partial(work, *args, **kwargs))
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, in_context)
    except asyncio.CancelledError:
        stopped.set()
        raise
