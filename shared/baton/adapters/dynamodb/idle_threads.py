"""The idle index on DynamoDB: sharded, keys only, never on a turn's path to being correct."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.leases import thread_from_item
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.idle_threads import IdleThread

_INDEX = ("idle", "idle_shard", "idle_check_at")
PAGE = 25


class DynamoIdleThreads:
    """``IdleThreads`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def due(self, before: datetime) -> AsyncIterator[IdleThread]:
        for shard in keys.idle_shards():
            async for page in self._table.query(shard, last=to_millis(before), limit=PAGE, index=_INDEX):
                for entry in page:
                    idle = await self._load(entry["PK"])
                    if idle is not None:
                        yield idle

    async def postpone(self, idle: IdleThread, until: datetime) -> bool:
        try:
            await self._table.update(
                keys.thread(idle.scope, idle.thread.id),
                "SET idle_check_at = :until",
                {":until": to_millis(until), ":seen": to_millis(idle.check_at)},
                condition="idle_check_at = :seen",
            )
        except ConditionFailed:
            return False
        return True

    async def _load(self, partition: str) -> IdleThread | None:
        """The thread itself, read consistently: the index may be behind."""
        tenant_id, _, thread_id = partition.partition("#")
        item = await self._table.get({"PK": partition, "SK": "THREAD"})
        if item is None or "idle_check_at" not in item or item["thread_status"] == "deleted":
            return None
        thread = thread_from_item(thread_id, item, self._clock.now())
        return IdleThread(
            scope=Scope(tenant_id, item["user_id"]),
            thread=thread,
            check_at=from_millis(item["idle_check_at"]),
            closes_at=thread.last_activity_at + timedelta(milliseconds=item["idle_ms"]),
        )
