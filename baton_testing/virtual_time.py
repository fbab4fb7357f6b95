"""An event loop on which waiting costs nothing: its clock jumps to whatever is due next (``looptime``)."""

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
"""Real seconds after which tasks that all wait for nothing get ``looptime.IdleTimeoutError``."""

SHUTDOWN_SECONDS = 120.0
"""Real seconds for threads that are still at work: on busy cores they may take long."""


class VirtualTimeLoop(LoopTimeEventLoop, asyncio.SelectorEventLoop):
    """An event loop whose time begins at 0 and passes only while everybody waits.

    Threads and sockets work, in no time.
    """

    idle_seconds = STUCK_SECONDS
    """The real time for work that threads and sockets have not finished."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        super().__init__(selector, idle_timeout=self.idle_seconds, noop_cycles=0)
        # asyncio adds a nanosecond to the time and runs what is due before that. From the hundredth day on, a float has
        # no room for it, and the loop would look at the clock for ever.
        self._clock_resolution = 1e-6
        self._outside = 0
        self._over = threading.Event()
        self._standing_by: asyncio.Future[bool] | None = None

    async def outside_begins(self) -> None:
        """Let time pass as on the wall until something outside, which is asked now, has answered."""
        self._outside += 1
        if self._outside == 1:
            # The loop does not jump while a thread is at work, so that no time limit ends what is asked.
            self._over = threading.Event()
            self._standing_by = self.run_in_executor(None, self._over.wait)

    async def outside_ends(self) -> None:
        """Let time stand again: it has answered, or nobody waits for it any more."""
        self._outside -= 1
        if not self._outside and self._standing_by is not None:
            self._over.set()
            await self._standing_by

    async def shutdown_default_executor(self) -> None:
        self.setup_looptime(start=self.time(), idle_timeout=SHUTDOWN_SECONDS, noop_cycles=0)
        await super().shutdown_default_executor()


@asynccontextmanager
async def real_time() -> AsyncIterator[None]:
    """Let the time of a ``VirtualTimeLoop`` pass as on the wall during the block, which asks something outside."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        yield
        return
    await loop.outside_begins()
    try:
        yield
    finally:
        await loop.outside_ends()


class LoopClock:
    """``ports.clock.Clock`` that shows ``begins_at`` and the time of the running loop since it was made.

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
