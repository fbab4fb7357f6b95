"""The retention of tenants on DynamoDB: an item of the tenant, and one list of those who have any."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.forgetting import ENFORCED_EVERY, Retention
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock

_DAYS = ("threads", "episodes", "audit", "uploads")


class DynamoRetentions:
    """``Retentions`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def get(self, scope: Scope) -> Retention:
        item = await self._table.get(keys.retention(scope))
        if item is None:
            return Retention()
        days = {name: item[name] for name in _DAYS if name in item}
        return Retention(**days, changed_by=item["changed_by"], changed_at=from_millis(item["changed_at"]))

    async def put(self, scope: Scope, retention: Retention) -> None:
        item: Item = {
            **keys.retention(scope),
            "changed_by": retention.changed_by,
            "changed_at": to_millis(retention.changed_at or self._clock.now()),
        }
        item |= {name: getattr(retention, name) for name in _DAYS if getattr(retention, name) is not None}
        await self._table.put(item)
        # In the list second: a tenant that is listed has a retention to read.
        due = keys.retention_due(scope.tenant_id)
        if retention.is_limited:
            await self._table.put({**due, "due_at": to_millis(self._clock.now())})
        else:
            await self._table.delete(due)

    async def due_at(self, scope: Scope) -> datetime | None:
        item = await self._table.get(keys.retention_due(scope.tenant_id))
        return from_millis(item["due_at"]) if item is not None else None

    async def repeat_soon(self, scope: Scope) -> None:
        with contextlib.suppress(ConditionFailed):  # limited no more
            await self._table.change(
                keys.retention_due(scope.tenant_id),
                "SET due_at = :now",
                {":now": to_millis(self._clock.now())},
                condition="attribute_exists(PK)",
            )

    async def claim_due(self, now: datetime) -> Sequence[str]:
        claimed: list[str] = []
        async for page in self._table.query(keys.RETENTIONS):
            for item in page:
                if item["due_at"] > to_millis(now):
                    continue
                with contextlib.suppress(ConditionFailed):  # another sweep was faster
                    await self._table.change(
                        keys.retention_due(item["SK"]),
                        "SET due_at = :next",
                        {":next": to_millis(now + ENFORCED_EVERY), ":seen": item["due_at"]},
                        condition="due_at = :seen",
                    )
                    claimed.append(item["SK"])
        return claimed
