"""Concurrent tasks that may be held back before they start."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from baton.concurrency.tasks import gather_all, stop_all


class DeferredTasks:
    """Coroutines that run concurrently with their caller from ``begin`` until ``finish`` or ``stop``."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Future[None]] = []
        self._waiting: list[Coroutine[Any, Any, None]] | None = []
        """The coroutines to start; None once ``begin`` was called."""
        self._last: list[Coroutine[Any, Any, None]] = []
        """The coroutines that only ``finish`` starts."""

    def begin(self) -> None:
        """Start the waiting coroutines. Coroutines that are added later start at once."""
        waiting, self._waiting = self._waiting or (), None
        for coroutine in waiting:
            self.add(coroutine)

    def add(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine, or hold it until ``begin`` is called."""
        if self._waiting is not None:
            self._waiting.append(coroutine)
        else:
            self._tasks.append(asyncio.ensure_future(coroutine))

    def add_last(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Hold a coroutine until ``finish`` is called. It is not started if the caller fails."""
        self._last.append(coroutine)

    async def finish(self) -> None:
        """Start the held coroutines of ``add_last``, and wait until all started coroutines have ended.

        Raises the failure of the first one that failed.
        """
        tasks, self._tasks = [*self._tasks, *map(asyncio.ensure_future, self._last)], []
        self._last = []
        await gather_all(*tasks)

    async def stop(self) -> None:
        """Cancel all coroutines and wait until they have ended. Their failures are not raised."""
        for coroutine in (*(self._waiting or ()), *self._last):
            coroutine.close()
        await stop_all(*self._tasks)
