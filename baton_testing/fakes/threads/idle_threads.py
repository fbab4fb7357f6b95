"""The idle index in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from functools import partial

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.threads import DueThread, IdleThread, compute_closing_time
from baton_testing.fakes.threads.thread_store import FakeThreadStore


class FakeIdleThreads:
    """``ports.threads.threads.IdleThreads`` over the threads of ``store``."""

    def __init__(self, store: FakeThreadStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.failures: dict[tuple[str, str], int] = {}
        self.unreadable: set[str] = set()
        """Ids of threads whose records cannot be read."""
        self.seen: Callable[[], Awaitable[object]] | None = None
        """A function that is called after a thread was found due, and before it is yielded."""

    async def due(self, before: datetime) -> AsyncIterator[DueThread]:
        rows = self._store.rows
        due = [(row.check_at, key) for key, row in rows.items() if row.check_at and row.check_at <= before]
        for check_at, key in sorted(due):
            if rows[key].check_at != check_at:
                continue
            idle = partial(self._read, key, rows[key].to_thread(self._clock.now()))
            if self.seen is not None:
                await self.seen()
            yield DueThread(*key, check_at, self.failures.get(key, 0), idle)

    async def postpone(self, due: DueThread, until: datetime, *, failures: int = 0) -> bool:
        key = due.tenant_id, due.thread_id
        row = self._store.rows[key]
        if row.check_at is None or row.check_at != due.check_at:
            return False
        row.check_at = from_millis(to_millis(until))
        self.failures[key] = failures
        return True

    def _read(self, key: tuple[str, str], thread: Thread) -> IdleThread:
        if thread.id in self.unreadable:
            raise ValueError(f"the record of {thread.id} makes no sense")
        closes_at = compute_closing_time(thread, self._store.rows[key].idle)
        return IdleThread(Scope(key[0], thread.user_id), thread, closes_at)
