"""Writes of a restore to the live table, each paced and conditional. A plan makes none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table, get_key
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton_deployment.restoring.comparison import make_unchanged_condition

UNIT = 1024
"""Bytes of one write unit."""


@dataclass(slots=True)
class Pace:
    """A limit on the write units a second, so that a restore leaves capacity for users."""

    units_a_second: float
    _free_at: float = field(default=0.0, init=False)

    async def wait(self, units: int) -> None:
        """Wait until so many units may be written."""
        now = asyncio.get_running_loop().time()
        begins_at = max(now, self._free_at)
        self._free_at = begins_at + units / self.units_a_second
        if begins_at > now:
            await asyncio.sleep(begins_at - now)


@dataclass(frozen=True, slots=True)
class LiveWrites:
    """The writes to the live table. A write replaces or removes only an item that is unchanged since it was read."""

    table: Table
    pace: Pace
    are_made: bool
    """False for a plan, which writes nothing and answers as if every condition held."""

    async def put_back(self, item: Item) -> bool:
        """Write an item that the live table lacks. Return False if another item was written under its key meanwhile."""
        return await self._put(item, IS_NEW)

    async def replace(self, item: Item, seen: Item) -> bool:
        """Replace the item ``seen``. Return False if it has changed meanwhile."""
        return await self._put(item, **make_unchanged_condition(seen, item))

    async def put_if(self, item: Item, condition: str, values: Item) -> bool:
        """Write an item under a condition, and return whether it held."""
        return await self._put(item, condition, values)

    async def remove(self, seen: Item) -> bool:
        """Remove the item ``seen``. Return False if it has changed meanwhile."""
        if not self.are_made:
            return True
        await self.pace.wait(_count_units(seen))
        return await self.table.delete(get_key(seen), **make_unchanged_condition(seen))

    async def _put(
        self, item: Item, condition: str, values: Item | None = None, names: Mapping[str, str] | None = None
    ) -> bool:
        """Write an item under a condition, and return whether the live table has it. A plan returns true."""
        if not self.are_made:
            return True
        await self.pace.wait(_count_units(item))
        try:
            await self.table.put(item, condition=condition, values=values, names=names)
        except ConditionFailed as failure:
            return failure.item == item  # an earlier try has written it, and its response was lost
        return True


def has_expired(item: Item, now: datetime) -> bool:
    """Return whether an item's lifetime is over."""
    return "expires_at" in item and bool(item["expires_at"] <= now.timestamp())


def _count_units(item: Item) -> int:
    """Return the approximate write units of an item, without those of its indexes."""
    return 1 + sum(len(name) + _measure(value) for name, value in item.items()) // UNIT


def _measure(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else len(str(value))
