"""The stream log in memory."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from datetime import datetime, timedelta

from baton.domain.errors import LeaseLost
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.threads.leases import Lease
from baton.ports.threads.stream_log import LogPiece, LogRead, is_full

KEPT = timedelta(hours=24)


class FakeStreamLog:
    """``ports.threads.stream_log.StreamLog``. Pieces are kept by their first sequence number, guarded by the fence."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs: defaultdict[tuple[str, str], dict[int, tuple[int, datetime, LogPiece]]] = defaultdict(dict)

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        log = self._logs[lease.scope.tenant_id, lease.thread_id]
        if piece.first_seq in log and log[piece.first_seq][0] > lease.fence:
            raise LeaseLost
        log[piece.first_seq] = (lease.fence, self._clock.now() + KEPT, piece)

    async def read(
        self, scope: Scope, thread_id: str, *, after: int, through: int | None = None, kept_after: int | None = None
    ) -> LogRead:
        log = self._logs[scope.tenant_id, thread_id]
        pieces: deque[LogPiece] = deque()
        size = 0
        for first_seq in sorted(log, reverse=True):
            _, end, piece = log[first_seq]
            is_wanted = piece.last_seq > after and (through is None or first_seq <= through)
            is_kept = kept_after is not None and first_seq > kept_after
            if not is_wanted or (end <= self._clock.now() and not is_kept):
                continue
            if pieces and is_full(size, pieces[0].run_id, piece.run_id):
                return LogRead(tuple(pieces), is_whole=False)
            size += len(json.dumps(piece.events, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
            pieces.appendleft(piece)
        return LogRead(tuple(pieces))
