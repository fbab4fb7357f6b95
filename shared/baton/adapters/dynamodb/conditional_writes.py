"""Writes under a condition: that an item is as it was read, that the lease still holds, that a thread is the user's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed, TransactionFailed, Write
from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease

A = TypeVar("A", bound=TableStore)
P = ParamSpec("P")
T = TypeVar("T")


def retry_on_conflict(
    change: Callable[Concatenate[A, P], Awaitable[T]],
) -> Callable[Concatenate[A, P], Coroutine[Any, Any, T]]:
    """Repeat a method that reads items and writes changes to them, if others have written them in between.

    Each repetition reads again. The method raises ``StoreUnavailable`` if it is always too late.
    """

    @wraps(change)
    async def repeat(adapter: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async for _ in adapter._table.pace_attempts():
            with suppress(ConditionFailed, TransactionFailed):
                return await change(adapter, *args, **kwargs)
        raise StoreUnavailable

    return repeat


def make_revision_condition(revision: int) -> dict[str, Any]:
    """Return the options of ``Table.put`` that replace a revision. Revision 0 means that there is no item yet."""
    if revision:
        return {"condition": "revision = :read", "values": {":read": revision}}
    return {"condition": IS_NEW}


async def create_revised(table: Table, item: Item) -> Item:
    """Store a record unless its key is in use. Return the record that is stored under the key."""
    try:
        await table.put(item, condition=IS_NEW)
    except ConditionFailed as failure:
        if failure.item is None:
            raise
        return failure.item
    return item


async def save_revised(table: Table, item: Item, *, compared: Collection[str] | None = None) -> bool:
    """Replace the item's previous revision, or create the item at revision 1. Return whether the item was written.

    If the response to an earlier attempt was lost, equal ``compared`` attributes show that it succeeded. By default all
    attributes are compared.
    """
    try:
        await table.put(item, **make_revision_condition(item["revision"] - 1))
    except ConditionFailed as failure:
        stored = failure.item
        return stored is not None and all(stored.get(name) == item[name] for name in compared or item)
    return True


FENCE_HOLDS = f"{IS_NEW} OR fence <= :fence"
"""The condition that no higher fence has written the item, with the value ``:fence``."""
FENCE_IS_HIGHEST = f"{IS_NEW} OR fence < :fence"
"""The condition under an optimistic lease, whose fence another worker may have too."""


async def put_fenced(table: Table, lease: Lease, item: Item) -> None:
    """Write an item under the lease's fence. Raises ``LeaseLost`` if the stored item has a higher fence.

    Repeating the write is harmless, because the stored item then has the same fence. Under an optimistic lease an equal
    fence raises ``LeaseLost`` too, and the worker begins again with a usual lease.
    """
    condition = FENCE_IS_HIGHEST if lease.is_optimistic else FENCE_HOLDS
    try:
        await table.put({**item, "fence": lease.fence}, condition=condition, values={":fence": lease.fence})
    except ConditionFailed:
        raise LeaseLost from None


async def put_all_fenced(table: Table, lease: Lease, items: Sequence[Item]) -> None:
    """Write up to 100 items in one transaction, each as ``put_fenced`` does under a usual lease.

    If the transaction fails, because others write the same items, the items are written one by one. Raises
    ``LeaseLost`` then as ``put_fenced`` does.
    """
    values: Item = {":fence": lease.fence}
    writes = [Write.put({**item, "fence": lease.fence}, condition=FENCE_HOLDS, values=values) for item in items]
    try:
        await table.transact(*writes)
    except TransactionFailed:
        for item in items:
            await put_fenced(table, lease, item)


MY_THREAD = "user_id = :user AND thread_status <> :deleted"
"""The condition that a thread is the user's and not deleted, with the values ``:user`` and ``:deleted``."""


async def update_own(table: Table, scope: Scope, thread_id: str, expression: str, values: Item) -> Item:
    """Update the caller's own thread and return all of its item. Raises ``ThreadUnavailable``."""
    try:
        return await table.update(
            keys.thread(scope, thread_id),
            expression,
            {**values, ":user": scope.user_id, ":deleted": "deleted"},
            condition=f"attribute_exists(PK) AND {MY_THREAD}",
        )
    except ConditionFailed as failure:
        raise ThreadUnavailable(is_unused=failure.item is None) from None
