"""The items of a partition in the restored and in the live table, in pairs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.item_kinds import ItemKind, find_kind
from baton.adapters.dynamodb.table import Table
from baton.concurrency.tasks import gather_each

AT_ONCE = 16
"""The most concurrent writes of one partition."""
BATCH = 512
"""The most pairs of a partition that are in memory."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two items with the same key."""

    then: Item | None
    """The restored table's item, or None."""
    now: Item | None
    """The live table's item, or None."""

    @property
    def item(self) -> Item:
        """The restored item, or the live one if there is no restored one, for their key."""
        item = self.then or self.now
        assert item is not None  # noqa: S101 - one of them has been read
        return item

    @property
    def kind(self) -> ItemKind | None:
        """The kind of the items; None if this release does not know it."""
        return find_kind(self.item)

    @property
    def is_lost(self) -> bool:
        """Whether the live table lacks the item."""
        return self.now is None

    @property
    def differs(self) -> bool:
        """Whether both tables have the item, with different attributes."""
        return self.then is not None and self.now is not None and self.then != self.now


async def apply_to_pairs(source: Table, live: Table, partition: str, apply: Callable[[Pair], Awaitable[None]]) -> None:
    """Apply a function to the pairs of items of a partition, to ``AT_ONCE`` at the same time.

    At most ``BATCH`` pairs are in memory. Raises ``StoreUnavailable``.
    """
    batch: list[Pair] = []
    async with aclosing(compare_partition(source, live, partition)) as pairs:
        async for pair in pairs:
            batch.append(pair)
            if len(batch) == BATCH:
                await gather_each(batch, apply, at_once=AT_ONCE)
                batch.clear()
        await gather_each(batch, apply, at_once=AT_ONCE)


async def compare_partition(source: Table, live: Table, partition: str) -> AsyncGenerator[Pair]:
    """Yield the pairs of items of a partition, in the order of their keys.

    The restored table is read without consistency, at half the price, because it does not change.
    """
    async with (
        aclosing(source.query(partition, consistent=False)) as then_pages,
        aclosing(live.query(partition)) as now_pages,
    ):
        then_items, now_items = _flatten(then_pages), _flatten(now_pages)
        then, now = await anext(then_items, None), await anext(now_items, None)
        while then is not None or now is not None:
            if now is None or (then is not None and _read_sort_key(then) < _read_sort_key(now)):
                yield Pair(then, None)
                then = await anext(then_items, None)
            elif then is None or _read_sort_key(now) < _read_sort_key(then):
                yield Pair(None, now)
                now = await anext(now_items, None)
            else:
                yield Pair(then, now)
                then, now = await anext(then_items, None), await anext(now_items, None)


def make_unchanged_condition(seen: Item, new: Item | None = None) -> dict[str, Any]:
    """Return the arguments ``condition``, ``values`` and ``names`` of a write that fails unless ``seen`` is unchanged.

    If ``new`` replaces the item, the additional attributes of ``new`` must not have been added meanwhile.
    """
    names: dict[str, str] = {}
    values: Item = {}
    conditions = []
    for number, (name, value) in enumerate(seen.items()):
        names[f"#a{number}"], values[f":a{number}"] = name, value
        conditions.append(f"#a{number} = :a{number}")
    for number, name in enumerate(name for name in new or () if name not in seen):
        names[f"#b{number}"] = name
        conditions.append(f"attribute_not_exists(#b{number})")
    return {"condition": " AND ".join(conditions), "values": values, "names": names}


async def _flatten(pages: AsyncIterator[list[Item]]) -> AsyncGenerator[Item]:
    async for page in pages:
        for item in page:
            yield item


def _read_sort_key(item: Item) -> bytes:
    """Return the sort key in DynamoDB's order, which is that of its bytes."""
    return str(item["SK"]).encode()
