"""The idle index in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.idle_threads import IdleThread
from tests.fakes.thread_store import FakeThreadStore


class FakeIdleThreads:
    """``ports.idle_threads.IdleThreads`` over the threads of ``store``."""

    def __init__(self, store: FakeThreadStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.seen: Callable[[], Awaitable[object]] | None = None
        """What happens after a thread was found due, and before anything is done about it."""

    async def due(self, before: datetime) -> AsyncIterator[IdleThread]:
        due = [(row.check_at, key) for key, row in self._store.rows.items() if row.check_at and row.check_at <= before]
        for _, key in sorted(due):
            row = self._store.rows[key]
            if row.check_at is not None:
                thread = row.shown(self._clock.now())
                closes_at = thread.last_activity_at + row.idle
                idle = IdleThread(Scope(key[0], thread.user_id), thread, row.check_at, closes_at)
                if self.seen is not None:
                    await self.seen()
                yield idle

    async def postpone(self, idle: IdleThread, until: datetime) -> bool:
        row = self._store.rows[idle.scope.tenant_id, idle.thread.id]
        if row.check_at is None or row.check_at != idle.check_at:
            return False
        row.check_at = from_millis(to_millis(until))
        return True
