"""The stream log on DynamoDB: pieces of events under their first sequence number."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.codec import pack, unpack_sized
from baton.adapters.dynamodb.fenced import put_fenced
from baton.adapters.dynamodb.table import Table
from baton.concurrency import off_loop
from baton.domain.identity import Scope
from baton.ports.clock import Clock
from baton.ports.leases import Lease
from baton.ports.stream_log import LogPiece, LogRead, is_full

KEPT_SECONDS = 24 * 3600


class DynamoStreamLog:
    """``StreamLog`` in the thread's own partition."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        size = sum(len(event.get("delta", "")) for event in piece.events)
        item = {
            **keys.log(lease.scope, lease.thread_id, piece.first_seq),
            "run_id": piece.run_id or "",
            "attempt": piece.attempt,
            "last_seq": piece.last_seq,
            "body": await off_loop(size, pack, list(piece.events)),
            "expires_at": int(self._clock.now().timestamp()) + KEPT_SECONDS,
        }
        await put_fenced(self._table, lease, item)

    async def read(self, scope: Scope, thread_id: str, *, after: int, through: int | None = None) -> LogRead:
        partition = keys.partition(scope, thread_id)
        now = self._clock.now().timestamp()
        pieces: deque[LogPiece] = deque()
        size = 0
        # The piece that holds after + 1 may begin before it: one step back finds it.
        async with aclosing(
            self._table.query(partition, first=keys.log_sort(0), last=keys.log_sort(after), newest_first=True, limit=1)
        ) as steps:
            step = await anext(steps)
        first = step[0]["SK"] if step else keys.log_sort(0)
        last = keys.log_sort(through if through is not None else 10**12 - 1)
        async with aclosing(self._table.query(partition, first=first, last=last, newest_first=True)) as pages:
            async for page in pages:
                for item in page:
                    # TTL deletes late and in any order, so check the time.
                    if item["last_seq"] <= after or item["expires_at"] <= now:
                        continue
                    run_id = item["run_id"] or None
                    if pieces and is_full(size, pieces[0].run_id, run_id):
                        return LogRead(tuple(pieces), is_whole=False)
                    events, weight = unpack_sized(item["body"])
                    size += weight
                    pieces.appendleft(
                        LogPiece(run_id, item["attempt"], int(item["SK"].removeprefix("LOG#")), tuple(events))
                    )
                    await asyncio.sleep(0)  # unpacking a piece of up to 256 KB takes time
        return LogRead(tuple(pieces))
