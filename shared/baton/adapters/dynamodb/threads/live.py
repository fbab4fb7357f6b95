"""Connections that watch a thread, cancellations, and the log of its events."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import pack, unpack, unpack_sized
from baton.adapters.dynamodb.conditional_writes import put_fenced
from baton.adapters.dynamodb.key_forms import LAST_NUMBER
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import QueuedMessage, WaitingMessage
from baton.domain.threads.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import read_machine_time
from baton.ports.threads.connections import TYPING_COUNTS, TYPING_NOTED_EVERY, Live
from baton.ports.threads.leases import Lease
from baton.ports.threads.stream_log import LogPiece, LogRead, is_full

LOG_KEPT_SECONDS = 24 * 3600
"""Seconds until a piece of the log expires."""


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

    async def read(
        self, scope: Scope, thread_id: str, *, after: int, through: int | None = None, kept_after: int | None = None
    ) -> LogRead:
        partition = keys.partition(scope, thread_id)
        now = self._clock.now().timestamp()
        pieces: deque[LogPiece] = deque()
        size = 0
        # The piece with the event ``after + 1`` may begin before that event.
        earlier = await self._table.read_all(
            partition,
            first=keys.log.make_sort_key(0),
            last=keys.log.make_sort_key(after),
            newest_first=True,
            limit=1,
            enough=1,
        )
        first = earlier[0]["SK"] if earlier else keys.log.make_sort_key(0)
        last = keys.log.make_sort_key(through if through is not None else LAST_NUMBER)
        async with aclosing(self._table.query(partition, first=first, last=last, newest_first=True)) as pages:
            async for page in pages:
                for item in page:
                    first_seq = keys.log.read_number(item)
                    is_kept = kept_after is not None and first_seq > kept_after
                    # TTL deletes late and in any order, so check the time.
                    if item["last_seq"] <= after or (item["expires_at"] <= now and not is_kept):
                        continue
                    run_id = item["run_id"] or None
                    if pieces and is_full(size, pieces[0].run_id, run_id):
                        return LogRead(tuple(pieces), is_whole=False)
                    events, weight = unpack_sized(item["body"])
                    size += weight
                    pieces.appendleft(LogPiece(run_id, item["attempt"], first_seq, tuple(events)))
                    await asyncio.sleep(0)  # unpacking a piece of up to 256 KB takes time
        return LogRead(tuple(pieces))


KEPT_SECONDS = 2 * 3600 + 600
"""Seconds until an attachment expires. API Gateway ends every WebSocket after two hours."""

CANCEL_KEPT_SECONDS = 3600
"""Seconds until a cancellation expires: longer than any run.

Ended runs delete their cancellations; this is for runs that never begin."""

ASK_KEPT_SECONDS = 60
"""Seconds until a question to a silent worker expires: longer than any lease."""

WAITING_KEPT_SECONDS = 4 * 24 * 3600
"""Seconds until a waiting message expires. The queue keeps the message's record for the same time."""

UNTIL_KEPT_SECONDS = 3600
"""Seconds for which a message is kept after its sender has given up, for a worker that takes over its run."""

TYPING_KEPT_SECONDS = 60
"""Seconds until the table deletes the note that a user is typing."""

READER_KEPT_SECONDS = 60
"""Seconds for which the note of a reader counts."""


class DynamoLiveRegistry(TimedTableStore):
    """``LiveRegistry`` on the conversation table."""

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        expires_at = int(read_machine_time(self._clock).timestamp()) + KEPT_SECONDS
        partition = keys.partition(scope, thread_id)
        # Write the connection's item first, so that a disconnect in between finds what it must delete.
        await self._table.put({**keys.connection(connection_id, partition), "expires_at": expires_at})
        await self._table.put(
            {
                **keys.live_connection(scope, thread_id, connection_id),
                "user_id": scope.user_id,
                "token_expires_at": to_millis(token_expires_at),
                "expires_at": expires_at,
            }
        )
        await self._count_change(scope, thread_id)

    async def _count_change(self, scope: Scope, thread_id: str) -> None:
        """Count a stored change in the thread's item, so that the thread's workers look for it.

        A thread that does not exist yet has no worker, and its first worker looks in any case.
        """
        await self._table.change(
            keys.thread(scope, thread_id), "ADD live_changes :one", {":one": 1}, condition="attribute_exists(user_id)"
        )

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now, machine = self._clock.now(), read_machine_time(self._clock)
        connections: dict[str, datetime] = {}
        users: dict[str, str] = {}
        cancelled: set[str] = set()
        marks: set[LeaseMark] = set()
        is_log_read = False
        waiting: list[WaitingMessage] = []
        async for page in self._table.query(keys.partition(scope, thread_id), prefix=keys.LIVE):
            for item in page:
                is_connection = item["SK"].startswith(keys.live_connection.prefix)
                if item["expires_at"] <= (machine if is_connection else now).timestamp():
                    continue
                match item["SK"].split("#", 2):
                    case [_, "CONN", connection_id]:
                        connections[connection_id] = from_millis(item["token_expires_at"])
                        users[connection_id] = item.get("user_id", "")  # an earlier release has stored none
                    case [_, "CANCEL", run_id]:
                        cancelled.add(run_id)
                    case [_, "ASK", fence]:
                        marks.add(LeaseMark(int(fence), from_millis(item["lease_until"])))
                    case [_, "READER"]:
                        is_log_read = True
                    case [_, "MESSAGE", message_id]:
                        waiting.append(_to_waiting_message(message_id, item))
        return Live(connections, frozenset(cancelled), frozenset(marks), is_log_read, _sort_by_time(waiting), users)

    async def put_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        await self._table.put(self._make_waiting_item(scope, thread_id, waiting))

    async def add_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        with contextlib.suppress(ConditionFailed):
            await self._table.put(self._make_waiting_item(scope, thread_id, waiting), condition=IS_NEW)

    def _make_waiting_item(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> Item:
        queued = waiting.queued.model_dump_json(by_alias=True) if waiting.queued is not None else None
        return {
            **keys.live_message(scope, thread_id, waiting.message_id),
            "mode": waiting.mode.value,
            "run_id": waiting.run_id,
            "digest": waiting.digest,
            "sent_at": to_millis(waiting.sent_at),
            "until": to_millis(waiting.until) if waiting.until is not None else None,
            "body": pack(queued) if queued is not None else None,
            "expires_at": _compute_end_of_waiting(waiting, self._clock.now()),
        }

    async def waiting(self, scope: Scope, thread_id: str) -> Sequence[WaitingMessage]:
        now, prefix = self._clock.now().timestamp(), keys.live_message.prefix
        items = await self._table.read_all(keys.partition(scope, thread_id), prefix=prefix)
        return _sort_by_time(
            [_to_waiting_message(item["SK"].removeprefix(prefix), item) for item in items if item["expires_at"] > now]
        )

    async def remove_waiting(self, scope: Scope, thread_id: str, message_id: str) -> None:
        await self._table.delete(keys.live_message(scope, thread_id, message_id))

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

    async def note_typing(self, scope: Scope, thread_id: str) -> None:
        now = self._clock.now()
        item = {"typed_at": to_millis(now), "expires_at": int(now.timestamp()) + TYPING_KEPT_SECONDS}
        with contextlib.suppress(ConditionFailed):  # noted a moment ago
            await self._table.put(
                {**keys.live_typing(scope, thread_id), **item},
                condition="attribute_not_exists(PK) OR typed_at <= :earlier",
                values={":earlier": to_millis(now - TYPING_NOTED_EVERY)},
            )

    async def find_typing(self, scope: Scope, since: Mapping[str, datetime]) -> frozenset[str]:
        earliest = self._clock.now() - TYPING_COUNTS
        threads = {keys.partition(scope, thread_id): thread_id for thread_id in since}
        items = await self._table.get_many([keys.live_typing(scope, thread_id) for thread_id in threads.values()])
        noted = {threads[item["PK"]]: item["typed_at"] for item in items}
        return frozenset(
            thread_id for thread_id, typed_at in noted.items() if typed_at > to_millis(max(earliest, since[thread_id]))
        )

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


def _to_waiting_message(message_id: str, item: Item) -> WaitingMessage:
    queued = QueuedMessage.model_validate_json(unpack(item["body"])) if "body" in item else None
    return WaitingMessage(
        message_id,
        WhileBusy(item["mode"]),
        item["run_id"],
        item["digest"],
        from_millis(item["sent_at"]),
        queued,
        from_millis(item["until"]) if "until" in item else None,
    )


def _compute_end_of_waiting(waiting: WaitingMessage, now: datetime) -> int:
    """Return the time at which a waiting message expires, in epoch seconds."""
    if waiting.until is not None:
        return int(waiting.until.timestamp()) + UNTIL_KEPT_SECONDS
    return int(now.timestamp()) + WAITING_KEPT_SECONDS


def _sort_by_time(waiting: Iterable[WaitingMessage]) -> tuple[WaitingMessage, ...]:
    return tuple(sorted(waiting, key=lambda message: (message.sent_at, message.message_id)))
