"""A turn that continues when its caller leaves, and its events."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from baton.domain.errors import BatonError, InternalError, LeaseLost, TokenExpired
from baton.domain.threads.events import Event
from baton.failures.reports import in_background, report_failure

T = TypeVar("T")
Emit = Callable[[Event], None]


class BackgroundTurn(Generic[T]):
    """A turn in a separate task. Its reader always gets an end after the last event, however the turn ends."""

    def __init__(self, work: Callable[[Emit], Coroutine[Any, Any, T]], request_id: str | None = None) -> None:
        """``work`` gets a function that takes the turn's events. ``request_id`` is for the log."""
        self._events: asyncio.Queue[Event | BatonError | None] = asyncio.Queue()
        self._request_id = request_id
        self._results: list[T] = []
        self._failure: BatonError | None = LeaseLost()
        """The failure of the turn. ``LeaseLost`` remains if the task is cancelled because the process stops."""
        self._start = asyncio.Event()
        self._task = in_background(self._run(work), "turn")
        self._task.add_done_callback(self._end)  # also of a task that is cancelled before it begins

    @property
    def is_over(self) -> bool:
        """True if the turn has ended."""
        return self._task.done()

    async def wait_for_start(self) -> None:
        """Wait for the first event or the end of the turn."""
        await self._start.wait()

    async def read_next(self, until: float | None = None) -> Event | None:
        """Return the next event, or None after the last one.

        Raises the ``BatonError`` with which the turn failed, and ``TimeoutError`` at ``until``, in event loop time.
        """
        async with asyncio.timeout_at(until):
            event = await self._events.get()
        if event is None or isinstance(event, BatonError):
            self._events.put_nowait(event)  # later calls get the end again
        if isinstance(event, BatonError):
            raise event
        return event

    async def read_events(
        self, ends_at: float, *, quiet_seconds: float, again: bool
    ) -> AsyncGenerator[Event | None, None]:
        """Yield the turn's events, and None if there was no event for ``quiet_seconds``.

        None is yielded at most once, as the first item, or with ``again`` each time. Raises the ``BatonError`` with
        which the turn failed, and ``TokenExpired`` at ``ends_at``, in event loop time.
        """
        loop = asyncio.get_running_loop()
        quiet_at = loop.time() + quiet_seconds
        while True:
            until = min(quiet_at, ends_at)
            try:
                event = await self.read_next(until if until < math.inf else None)
            except TimeoutError:
                if loop.time() >= ends_at:
                    raise TokenExpired from None
                yield None
            else:
                if event is None:
                    return
                yield event
            quiet_at = loop.time() + quiet_seconds if again else math.inf

    async def wait_for_result(self) -> T:
        """Return the turn's result once it has ended. Raises the ``BatonError`` with which it failed."""
        await asyncio.wait([self._task])  # a caller that leaves does not stop the turn
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    async def _run(self, work: Callable[[Emit], Coroutine[Any, Any, T]]) -> None:
        try:
            self._results.append(await work(self._emit))
            self._failure = None
        except BatonError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 - it is reported
            report_failure(error, "run failed", request_id=self._request_id)
            self._failure = InternalError()

    def _end(self, _: asyncio.Task[None]) -> None:
        self._start.set()
        self._events.put_nowait(self._failure)

    def _emit(self, event: Event) -> None:
        self._start.set()
        self._events.put_nowait(event)
