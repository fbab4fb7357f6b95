"""Connections that watch a thread, cancellations, and the log of its events."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.bodies import pack, unpack_sized
from baton.adapters.dynamodb.conditional_writes import put_fenced
from baton.adapters.dynamodb.key_forms import LAST_NUMBER
from baton.adapters.dynamodb.table import TimedTableStore
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.connections import Live
from baton.ports.threads.leases import Lease
from baton.ports.threads.stream_log import LogPiece, LogRead, is_full

LOG_KEPT_SECONDS = 24 * 3600


class DynamoStreamLog(TimedTableStore):
    """``StreamLog`` in the thread's own partition."""

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        size = sum(len(event.get("delta", "")) for event in piece.events)
        item = {
            **keys.log(lease.scope, lease.thread_id, piece.first_seq),
            "run_id": piece.run_id or "",
            "attempt": piece.attempt,
            "last_seq": piece.last_seq,
            "body": await off_loop(size, pack, list(piece.events)),
            "expires_at": int(self._clock.now().timestamp()) + LOG_KEPT_SECONDS,
        }
        await put_fenced(self._table, lease, item)

    async def read(self, scope: Scope, thread_id: str, *, after: int, through: int | None = None) -> LogRead:
        partition = keys.partition(scope, thread_id)
        now = self._clock.now().timestamp()
        pieces: deque[LogPiece] = deque()
        size = 0
        # The piece that holds after + 1 may begin before it: one step back finds it.
        step = await self._table.read_all(
            partition, first=keys.log.sort(0), last=keys.log.sort(after), newest_first=True, limit=1, enough=1
        )
        first = step[0]["SK"] if step else keys.log.sort(0)
        last = keys.log.sort(through if through is not None else LAST_NUMBER)
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
                    pieces.appendleft(LogPiece(run_id, item["attempt"], keys.log.number(item), tuple(events)))
                    await asyncio.sleep(0)  # unpacking a piece of up to 256 KB takes time
        return LogRead(tuple(pieces))


KEPT_SECONDS = 2 * 3600 + 600
"""API Gateway ends every WebSocket after two hours."""

CANCEL_KEPT_SECONDS = 3600
"""Seconds until a cancellation expires: longer than any run.

Ended runs delete their cancellations; this is for runs that never begin."""

ASK_KEPT_SECONDS = 60
"""Seconds until a question to a silent worker expires: longer than any lease."""

READER_KEPT_SECONDS = 60
"""Seconds for which the note of a reader counts."""


class DynamoLiveRegistry(TimedTableStore):
    """``LiveRegistry`` on the conversation table."""

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        expires_at = int(self._clock.now().timestamp()) + KEPT_SECONDS
        partition = keys.partition(scope, thread_id)
        # Write the connection's item first, so that a disconnect in between finds what it must delete.
        await self._table.put({**keys.connection(connection_id, partition), "expires_at": expires_at})
        await self._table.put(
            {
                **keys.live_connection(scope, thread_id, connection_id),
                "token_expires_at": to_millis(token_expires_at),
                "expires_at": expires_at,
            }
        )
        await self._count_change(scope, thread_id)

    async def _count_change(self, scope: Scope, thread_id: str) -> None:
        """Count a change in the thread's item once it is written, so that the thread's workers look for it.

        A thread that does not exist yet has no worker. Its first one looks in any case.
        """
        await self._table.change(
            keys.thread(scope, thread_id), "ADD live_changes :one", {":one": 1}, condition="attribute_exists(user_id)"
        )

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now = self._clock.now()
        connections: dict[str, datetime] = {}
        cancelled: set[str] = set()
        marks: set[LeaseMark] = set()
        is_log_read = False
        async for page in self._table.query(keys.partition(scope, thread_id), prefix="LIVE#"):
            for item in page:
                if item["expires_at"] <= now.timestamp():
                    continue
                match item["SK"].split("#", 2):
                    case [_, "CONN", connection_id]:
                        connections[connection_id] = from_millis(item["token_expires_at"])
                    case [_, "CANCEL", run_id]:
                        cancelled.add(run_id)
                    case [_, "ASK", fence]:
                        marks.add(LeaseMark(int(fence), from_millis(item["lease_until"])))
                    case [_, "READER"]:
                        is_log_read = True
        return Live(connections, frozenset(cancelled), frozenset(marks), is_log_read)

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        expires_at = int(self._clock.now().timestamp()) + CANCEL_KEPT_SECONDS
        await self._table.put({**keys.live_cancel(scope, thread_id, run_id), "expires_at": expires_at})
        await self._count_change(scope, thread_id)

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        await self._table.delete(keys.live_cancel(scope, thread_id, run_id))

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        await self._table.put(
            {
                **keys.live_ask(scope, thread_id, lease.fence),
                "lease_until": to_millis(lease.until),
                "expires_at": int(self._clock.now().timestamp()) + ASK_KEPT_SECONDS,
            }
        )

    async def note_reader(self, scope: Scope, thread_id: str) -> None:
        expires_at = int(self._clock.now().timestamp()) + READER_KEPT_SECONDS
        await self._table.put({**keys.live_reader(scope, thread_id), "expires_at": expires_at})

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        await gather_all(
            self._table.delete(keys.live_connection(scope, thread_id, connection_id)),
            self._table.delete(keys.connection(connection_id, keys.partition(scope, thread_id))),
        )

    async def disconnect(self, connection_id: str) -> None:
        own = keys.connection(connection_id)["PK"]
        async for page in self._table.query(own):
            for item in page:
                partition = item["SK"].removeprefix("AT#")
                await self._table.delete({"PK": partition, "SK": f"{keys.live_connection.prefix}{connection_id}"})
                await self._table.delete({"PK": own, "SK": item["SK"]})
