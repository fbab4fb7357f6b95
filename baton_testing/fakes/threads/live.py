"""Attached connections in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import WaitingMessage
from baton.domain.threads.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.connections import TYPING_COUNTS, TYPING_NOTED_EVERY, Live
from baton_testing.fakes.threads.leases import FakeLeases

KEPT = timedelta(hours=2, minutes=10)
CANCEL_KEPT = timedelta(hours=1)
ASK_KEPT = timedelta(minutes=1)
WAITING_KEPT = timedelta(days=4)
UNTIL_KEPT = timedelta(hours=1)
READER_KEPT = timedelta(minutes=1)

_Thread = tuple[str, str]
"""Tenant and thread."""


class FakeLiveRegistry:
    """``ports.threads.connections.LiveRegistry``."""

    def __init__(self, clock: Clock, leases: FakeLeases | None = None) -> None:
        """``leases`` has the threads whose changes are counted; with None, changes are not counted."""
        self._clock = clock
        self._leases = leases
        self._read: dict[_Thread, datetime] = {}
        self._typed: dict[_Thread, datetime] = {}
        self._attached: defaultdict[_Thread, dict[str, tuple[datetime, datetime]]] = defaultdict(dict)
        self._users: dict[str, str] = {}
        self._cancelled: defaultdict[_Thread, dict[str, datetime]] = defaultdict(dict)
        self._waiting: defaultdict[_Thread, dict[str, tuple[WaitingMessage, datetime]]] = defaultdict(dict)
        self._requests: defaultdict[_Thread, dict[int, tuple[LeaseMark, datetime]]] = defaultdict(dict)

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        token_end = from_millis(to_millis(token_expires_at))
        self._attached[scope.tenant_id, thread_id][connection_id] = (token_end, self._clock.now() + KEPT)
        self._users[connection_id] = scope.user_id
        self._count_change(scope, thread_id)

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now = self._clock.now()
        attached = self._attached[scope.tenant_id, thread_id]
        connections = {name: token_end for name, (token_end, end) in attached.items() if end > now}
        cancelled = (run_id for run_id, end in self._cancelled[scope.tenant_id, thread_id].items() if end > now)
        marks = (lease for lease, end in self._requests[scope.tenant_id, thread_id].values() if end > now)
        is_log_read = self._read.get((scope.tenant_id, thread_id), now) > now
        waiting = tuple(await self.waiting(scope, thread_id))
        users = {name: self._users[name] for name in connections}
        return Live(connections, frozenset(cancelled), frozenset(marks), is_log_read, waiting, users)

    async def put_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        until = from_millis(to_millis(waiting.until)) if waiting.until is not None else None
        message = replace(waiting, sent_at=from_millis(to_millis(waiting.sent_at)), until=until)
        end = until + UNTIL_KEPT if until is not None else self._clock.now() + WAITING_KEPT
        self._waiting[scope.tenant_id, thread_id][waiting.message_id] = (message, end)

    async def add_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        others = await self.waiting(scope, thread_id)
        if all(other.message_id != waiting.message_id for other in others):
            await self.put_waiting(scope, thread_id, waiting)

    async def waiting(self, scope: Scope, thread_id: str) -> Sequence[WaitingMessage]:
        now = self._clock.now()
        messages = [waiting for waiting, end in self._waiting[scope.tenant_id, thread_id].values() if end > now]
        return sorted(messages, key=lambda waiting: (waiting.sent_at, waiting.message_id))

    async def remove_waiting(self, scope: Scope, thread_id: str, message_id: str) -> None:
        self._waiting[scope.tenant_id, thread_id].pop(message_id, None)

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id][run_id] = self._clock.now() + CANCEL_KEPT
        self._count_change(scope, thread_id)

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        self._cancelled[scope.tenant_id, thread_id].pop(run_id, None)

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        mark = LeaseMark(lease.fence, from_millis(to_millis(lease.until)))
        self._requests[scope.tenant_id, thread_id][lease.fence] = (mark, self._clock.now() + ASK_KEPT)

    async def note_reader(self, scope: Scope, thread_id: str) -> None:
        self._read[scope.tenant_id, thread_id] = self._clock.now() + READER_KEPT

    async def note_typing(self, scope: Scope, thread_id: str) -> None:
        now = self._clock.now()
        if now - self._typed.get((scope.tenant_id, thread_id), now - TYPING_NOTED_EVERY) >= TYPING_NOTED_EVERY:
            self._typed[scope.tenant_id, thread_id] = now

    async def find_typing(self, scope: Scope, since: Mapping[str, datetime]) -> frozenset[str]:
        earliest = self._clock.now() - TYPING_COUNTS
        typed_at = {thread_id: self._typed.get((scope.tenant_id, thread_id)) for thread_id in since}
        return frozenset(
            thread_id for thread_id, at in typed_at.items() if at is not None and at > max(earliest, since[thread_id])
        )

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        self._attached[scope.tenant_id, thread_id].pop(connection_id, None)

    async def disconnect(self, connection_id: str) -> None:
        for attached in self._attached.values():
            attached.pop(connection_id, None)

    def _count_change(self, scope: Scope, thread_id: str) -> None:
        row = self._leases.rows.get((scope.tenant_id, thread_id)) if self._leases is not None else None
        if row is not None:
            row.thread = replace(row.thread, live_changes=row.thread.live_changes + 1)
