"""Finding out whether the worker that holds a lease is alive."""

from __future__ import annotations

import asyncio

from baton.domain.identity import Scope
from baton.domain.lease_times import LeaseTimes
from baton.domain.thread import LeaseMark, Thread
from baton.ports.connections import LiveRegistry


class LeaseWatch:
    """Watches one run: asks a silent worker for a sign of life, and reports the worker as dead if it does not answer.

    The answer is a renewed lease. A wrong report about a delayed worker does no harm, because that worker finds its
    lease lost.
    """

    def __init__(self, live: LiveRegistry, scope: Scope, thread_id: str, times: LeaseTimes) -> None:
        self._live = live
        self._scope = scope
        self._thread_id = thread_id
        self._lease: LeaseMark | None = None
        self._quiet_since = 0.0
        self._asked_at: float | None = None
        self._times = times
        self._quiet_seconds = times.quiet

    async def look(self, thread: Thread, *, heard: bool = False) -> LeaseMark | None:
        """Return the lease of a worker that is presumed dead, otherwise None. Call it after every read of the thread.

        ``heard`` is whether there is another sign of life, such as events. The worker of a run that was taken over
        before is never presumed dead here: the cause that delayed the first worker may delay it too, so the lease has
        to run out.
        """
        now = asyncio.get_running_loop().time()
        if heard or thread.lease != self._lease:
            if self._asked_at is not None:
                self._quiet_seconds = self._times.answered
            self._lease, self._quiet_since, self._asked_at = thread.lease, now, None
        if self._lease is None or thread.run is None or thread.run.attempt > 1:
            return None
        if self._asked_at is None:
            if now - self._quiet_since >= self._quiet_seconds:
                await self._live.ask(self._scope, self._thread_id, self._lease)
                self._asked_at = asyncio.get_running_loop().time()
            return None
        return self._lease if now - self._asked_at >= self._times.answer else None
