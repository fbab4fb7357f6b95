"""One retrieval in progress: its duration and its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

logger = Logger(child=True)

CANCELLING_SECONDS = 0.05
"""Seconds to wait for the end of cancelled retrievals."""

T = TypeVar("T")


class RetrievalStep(Generic[T]):
    """One retrieval in progress."""

    def __init__(self, work: Coroutine[Any, Any, tuple[T, ...]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._ended: float | None = None
        self.task = asyncio.ensure_future(work)
        self.task.add_done_callback(self._end)

    @property
    def duration(self) -> timedelta:
        """The time that it took, or has taken so far."""
        end = self._ended if self._ended is not None else self._loop.time()
        return timedelta(seconds=max(0.0, end - self._began))

    def outcome(self, deadline: timedelta) -> tuple[tuple[T, ...], str | None]:
        """Return its findings, and the reason if it failed or was late."""
        if not self.task.done() or self.task.cancelled():
            count(Metric.RECALLS_INCOMPLETE)
            return (), f"took more than the deadline of {deadline / timedelta(milliseconds=1):g} ms"
        failure = self.task.exception()
        if failure is None:
            return self.task.result(), None
        count(Metric.RECALLS_INCOMPLETE)
        if isinstance(failure, BatonError):
            return (), f"{failure.code}: {failure.detail}"
        logger.error("retrieval failed", exc_info=failure)
        count(Metric.INTERNAL_FAULTS)
        return (), "internal_error: it failed unexpectedly"

    def _end(self, _: asyncio.Future[tuple[T, ...]]) -> None:
        self._ended = self._loop.time()


async def cancel_all(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel the tasks that still run. One that does not end at once is not waited for."""
    for task in tasks:
        task.add_done_callback(_take_exception)
        task.cancel()
    unfinished = [task for task in tasks if not task.done()]
    if unfinished:
        await asyncio.wait(unfinished, timeout=CANCELLING_SECONDS)


def _take_exception(task: asyncio.Future[Any]) -> None:
    """Mark a task's exception as seen; otherwise asyncio logs it."""
    if not task.cancelled():
        task.exception()
