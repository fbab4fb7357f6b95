"""An event loop whose clock jumps to the next timer instead of waiting (``looptime``)."""

from __future__ import annotations

import asyncio
import random
import selectors
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from looptime import LoopTimeEventLoop

STUCK_SECONDS = 10.0
"""Real seconds after which ``looptime.IdleTimeoutError`` is raised if all tasks wait without a timer."""

SHUTDOWN_SECONDS = 120.0
"""Real seconds for threads to end. On busy cores they may take long."""


class VirtualTimeLoop(LoopTimeEventLoop, asyncio.SelectorEventLoop):
    """An event loop whose time begins at 0 and passes only while all tasks wait.

    Threads and sockets work, but take no virtual time.
    """

    idle_seconds = STUCK_SECONDS
    """Real seconds that threads and sockets may take while all tasks wait without a timer."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        super().__init__(selector, idle_timeout=self.idle_seconds, noop_cycles=0)
        # asyncio adds a nanosecond to the time and runs the timers before that. After a hundred days, a float cannot
        # represent the nanosecond, and the loop would never run the timers.
        self._clock_resolution = 1e-6
        self._outside = 0
        self._over = threading.Event()
        self._standing_by: asyncio.Future[bool] | None = None

    async def begin_outside_call(self) -> None:
        """Let real time pass until ``end_outside_call``, for a call of an external service."""
        self._outside += 1
        if self._outside == 1:
            # While a thread works, the loop does not jump to a time limit of the call.
            self._over = threading.Event()
            self._standing_by = self.run_in_executor(None, self._over.wait)

    async def end_outside_call(self) -> None:
        """Stop real time again after the external call."""
        self._outside -= 1
        if not self._outside and self._standing_by is not None:
            self._over.set()
            await self._standing_by

    async def shutdown_default_executor(self) -> None:
        self.setup_looptime(start=self.time(), idle_timeout=SHUTDOWN_SECONDS, noop_cycles=0)
        await super().shutdown_default_executor()


@asynccontextmanager
async def real_time() -> AsyncIterator[None]:
    """Let real time pass on a ``VirtualTimeLoop`` during the block, which calls an external service.

    On other loops it does nothing.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        yield
        return
    await loop.begin_outside_call()
    try:
        yield
    finally:
        await loop.end_outside_call()


class LoopClock:
    """``ports.clock.Clock`` that shows ``begins_at`` plus the running loop's time since this clock was made.

    Its ids are the same in every run.
    """

    def __init__(self, begins_at: datetime, seed: str) -> None:
        self._begins_at = begins_at
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._random = random.Random(seed)  # noqa: S311 - ids of tests, not secrets

    def now(self) -> datetime:
        return self._begins_at + timedelta(seconds=self._loop.time() - self._started)

    def new_id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))
