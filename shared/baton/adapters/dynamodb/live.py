"""Attached connections on DynamoDB: one item in the thread's partition, one in the connection's."""

from __future__ import annotations

from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.concurrency import gather_all
from baton.domain.identity import Scope
from baton.domain.thread import LeaseMark
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.connections import Live

KEPT_SECONDS = 2 * 3600 + 600
"""API Gateway ends every WebSocket after two hours."""

CANCEL_KEPT_SECONDS = 3600
"""Longer than any run. Ended runs delete their cancellations; this is for runs that never begin."""

ASK_KEPT_SECONDS = 60
"""Longer than any lease."""

_CONNECTION = "LIVE#CONN#"
_CANCEL = "LIVE#CANCEL#"
_ASK = "LIVE#ASK#"


class DynamoLiveRegistry:
    """``LiveRegistry`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

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

    async def live(self, scope: Scope, thread_id: str) -> Live:
        now = self._clock.now()
        connections: dict[str, datetime] = {}
        cancelled: set[str] = set()
        asked: set[LeaseMark] = set()
        async for page in self._table.query(keys.partition(scope, thread_id), prefix="LIVE#"):
            for item in page:
                if item["expires_at"] <= now.timestamp():
                    continue
                name: str = item["SK"]
                if name.startswith(_CONNECTION):
                    connections[name.removeprefix(_CONNECTION)] = from_millis(item["token_expires_at"])
                elif name.startswith(_CANCEL):
                    cancelled.add(name.removeprefix(_CANCEL))
                elif name.startswith(_ASK):
                    asked.add(LeaseMark(int(name.removeprefix(_ASK)), from_millis(item["lease_until"])))
        return Live(connections, frozenset(cancelled), frozenset(asked))

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        expires_at = int(self._clock.now().timestamp()) + CANCEL_KEPT_SECONDS
        await self._table.put({**keys.live_cancel(scope, thread_id, run_id), "expires_at": expires_at})

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
                await self._table.delete({"PK": partition, "SK": f"{_CONNECTION}{connection_id}"})
                await self._table.delete({"PK": own, "SK": item["SK"]})
