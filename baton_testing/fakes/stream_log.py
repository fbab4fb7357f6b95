"""The stream log in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from baton.domain.errors import LeaseLost
from baton.domain.identity import Scope
from baton.ports.clock import Clock
from baton.ports.stream_log import LogPiece
from baton.ports.thread_store import Lease

KEPT = timedelta(hours=24)


class FakeStreamLog:
    """``ports.stream_log.StreamLog``: pieces under their first sequence number, guarded by the fence."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs: defaultdict[tuple[str, str], dict[int, tuple[int, datetime, LogPiece]]] = defaultdict(dict)

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        log = self._logs[lease.scope.tenant_id, lease.thread_id]
        if piece.first_seq in log and log[piece.first_seq][0] > lease.fence:
            raise LeaseLost
        log[piece.first_seq] = (lease.fence, self._clock.now() + KEPT, piece)

    async def read(self, scope: Scope, thread_id: str, *, after: int) -> Sequence[LogPiece]:
        log = self._logs[scope.tenant_id, thread_id]
        pieces = (log[first_seq] for first_seq in sorted(log))
        return [piece for _, end, piece in pieces if piece.last_seq > after and end > self._clock.now()]
