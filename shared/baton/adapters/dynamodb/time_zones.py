"""The users' time zones on DynamoDB: one item beside a user's workflows."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock, LastTimeZone


class DynamoTimeZones:
    """``TimeZones`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def last(self, scope: Scope) -> LastTimeZone | None:
        item = await self._table.get(keys.user_time_zone(scope))
        return LastTimeZone(item["time_zone"], from_millis(item["changed_at"])) if item is not None else None

    async def put(self, scope: Scope, name: str) -> None:
        # Erasure judges what is kept for a user by ``changed_at``.
        item = {**keys.user_time_zone(scope), "time_zone": name, "changed_at": to_millis(self._clock.now())}
        await self._table.put(item)
