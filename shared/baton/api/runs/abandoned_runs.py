"""Runs whose clients have left. An AG-UI client stops a run by ending its request.

A request also ends when the network fails or a page is reloaded. So a run continues for a short time, and is stopped
only if no client has returned by then. This works within one process only. Lambda does not notice that clients leave,
so there the runs continue.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.failures.reports import in_background

logger = Logger(child=True)

Key = tuple[str, str, str]
"""Tenant, user and thread, so that no other user can prevent or hasten a stop."""
T = TypeVar("T")
Stop = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class _AbandonedRun:
    """A run whose client has left."""

    message_id: str
    stop: Stop
    timer: asyncio.TimerHandle
    """Calls ``stop`` at the end of the waiting time."""


class AbandonedRuns:
    """The open streams of one process, by thread, and the runs that will be stopped soon."""

    def __init__(self) -> None:
        self._open_streams: Counter[Key] = Counter()
        self._abandoned: dict[Key, _AbandonedRun] = {}

    async def count(self, scope: Scope, thread_id: str, frames: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the frames of a stream of the thread's events, which counts as open until it is closed."""
        key = _make_key(scope, thread_id)
        self._open_streams[key] += 1
        try:
            async with contextlib.aclosing(frames):
                async for frame in frames:
                    yield frame
        finally:
            self._open_streams[key] -= 1
            if not self._open_streams[key]:
                del self._open_streams[key]

    def note_return(self, scope: Scope, thread_id: str) -> None:
        """Let the thread's run continue, because a client follows it again."""
        abandoned = self._abandoned.pop(_make_key(scope, thread_id), None)
        if abandoned is not None:
            abandoned.timer.cancel()

    def note_message(self, scope: Scope, thread_id: str, message_id: str) -> None:
        """Let the run continue if its message is sent again. If another message is sent, stop the run at once."""
        abandoned = self._abandoned.get(_make_key(scope, thread_id))
        if abandoned is not None and abandoned.message_id != message_id:
            self._stop(_make_key(scope, thread_id))
        else:
            self.note_return(scope, thread_id)

    def stop_later(self, scope: Scope, thread_id: str, message_id: str, stop: Stop, *, seconds: float) -> None:
        """Stop the run of a message after ``seconds``, unless another stream of the thread is open or begins by then.

        The caller must call it while the abandoned stream still counts as open. A repeated call restarts the time.
        """
        key = _make_key(scope, thread_id)
        if self._open_streams[key] > 1:
            return
        self.note_return(scope, thread_id)
        timer = asyncio.get_running_loop().call_later(seconds, self._stop, key)
        self._abandoned[key] = _AbandonedRun(message_id, stop, timer)

    def _stop(self, key: Key) -> None:
        abandoned = self._abandoned.pop(key, None)
        if abandoned is None:
            return
        abandoned.timer.cancel()
        in_background(_stop_run(abandoned.stop), "stop of a run that was left")


def _make_key(scope: Scope, thread_id: str) -> Key:
    return scope.tenant_id, scope.user_id, thread_id


async def _stop_run(stop: Stop) -> None:
    try:
        await stop()
    except BatonError as error:
        logger.warning("a run that was left goes on", reason=error.code)
        count(Metric.RUNS_NOT_STOPPED)
