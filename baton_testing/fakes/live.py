"""Attached connections in memory."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from baton.domain.identity import Scope
from baton.domain.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.connections import Live

KEPT = timedelta(hours=2, minutes=10)
CANCEL_KEPT = timedelta(hours=1)
ASK_KEPT = timedelta(minutes=1)

_Thread = tuple[str, str]


class FakeLiveRegistry:
    """``ports.live.LiveRegistry``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._attached: defaultdict[_Thread, dict[str, tuple[datetime, datetime]]] = defaultdict(dict)
        self._cancelled: defaultdict[_Thread, dict[str, datetime]] = defaultdict(dict)
        self._asked: defaultdict[_Thread, dict[int, tuple[LeaseMark, datetime]]] = defaultdict(dict)

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        token_end = from_millis(to_millis(token_expires_at))
        self._attached[scope.tenant_id, thread_id][connection_id] = (token_end, self._clock.now() + KEPT)

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now = self._clock.now()
        attached = self._attached[scope.tenant_id, thread_id]
        connections = {name: token_end for name, (token_end, end) in attached.items() if end > now}
        cancelled = (run_id for run_id, end in self._cancelled[scope.tenant_id, thread_id].items() if end > now)
        asked = (lease for lease, end in self._asked[scope.tenant_id, thread_id].values() if end > now)
        return Live(connections, frozenset(cancelled), frozenset(asked))

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id][run_id] = self._clock.now() + CANCEL_KEPT

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id].pop(run_id, None)

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        mark = LeaseMark(lease.fence, from_millis(to_millis(lease.until)))
        self._asked[scope.tenant_id, thread_id][lease.fence] = (mark, self._clock.now() + ASK_KEPT)

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        self._attached[scope.tenant_id, thread_id].pop(connection_id, None)

    async def disconnect(self, connection_id: str) -> None:
        for attached in self._attached.values():
            attached.pop(connection_id, None)
