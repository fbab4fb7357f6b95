"""Attached connections in memory."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.connections import Live
from baton_testing.fakes.threads.leases import FakeLeases

KEPT = timedelta(hours=2, minutes=10)
CANCEL_KEPT = timedelta(hours=1)
ASK_KEPT = timedelta(minutes=1)
READER_KEPT = timedelta(minutes=1)

_Thread = tuple[str, str]


class FakeLiveRegistry:
    """``ports.threads.connections.LiveRegistry``."""

    def __init__(self, clock: Clock, leases: FakeLeases | None = None) -> None:
        """``leases`` count the changes of each thread; without them nothing does."""
        self._clock = clock
        self._leases = leases
        self._read: dict[_Thread, datetime] = {}
        self._attached: defaultdict[_Thread, dict[str, tuple[datetime, datetime]]] = defaultdict(dict)
        self._cancelled: defaultdict[_Thread, dict[str, datetime]] = defaultdict(dict)
        self._asked: defaultdict[_Thread, dict[int, tuple[LeaseMark, datetime]]] = defaultdict(dict)

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        token_end = from_millis(to_millis(token_expires_at))
        self._attached[scope.tenant_id, thread_id][connection_id] = (token_end, self._clock.now() + KEPT)
        self._count_change(scope, thread_id)

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now = self._clock.now()
        attached = self._attached[scope.tenant_id, thread_id]
        connections = {name: token_end for name, (token_end, end) in attached.items() if end > now}
        cancelled = (run_id for run_id, end in self._cancelled[scope.tenant_id, thread_id].items() if end > now)
        marks = (lease for lease, end in self._asked[scope.tenant_id, thread_id].values() if end > now)
        is_log_read = self._read.get((scope.tenant_id, thread_id), now) > now
        return Live(connections, frozenset(cancelled), frozenset(marks), is_log_read)

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id][run_id] = self._clock.now() + CANCEL_KEPT
        self._count_change(scope, thread_id)

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id].pop(run_id, None)

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        mark = LeaseMark(lease.fence, from_millis(to_millis(lease.until)))
        self._asked[scope.tenant_id, thread_id][lease.fence] = (mark, self._clock.now() + ASK_KEPT)

    async def note_reader(self, scope: Scope, thread_id: str) -> None:
        self._read[scope.tenant_id, thread_id] = self._clock.now() + READER_KEPT

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        self._attached[scope.tenant_id, thread_id].pop(connection_id, None)

    async def disconnect(self, connection_id: str) -> None:
        for attached in self._attached.values():
            attached.pop(connection_id, None)

    def _count_change(self, scope: Scope, thread_id: str) -> None:
        row = self._leases.rows.get((scope.tenant_id, thread_id)) if self._leases is not None else None
        if row is not None:
            row.thread = replace(row.thread, live_changes=row.thread.live_changes + 1)
