"""Writes under a condition: that an item is as it was read, that the lease still holds, that a thread is the user's."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table, TransactionFailed, Write
from baton.domain.errors import LeaseLost, ThreadUnavailable
from baton.domain.identity import Scope
from baton.ports.leases import Lease


async def create_revised(table: Table, item: Item) -> Item:
    """Store a record that is not there yet, and return it; otherwise return the one that is there."""
    try:
        await table.put(item, condition="attribute_not_exists(PK)")
    except ConditionFailed as failure:
        if failure.item is None:
            raise
        return failure.item
    return item


async def save_revised(table: Table, item: Item) -> bool:
    """Replace the revision before the item's own. Return whether that one was there."""
    try:
        await table.put(item, condition="revision = :read", values={":read": item["revision"] - 1})
    except ConditionFailed as failure:
        stored = failure.item
        # Its own write, if the answer to it was lost.
        return stored is not None and stored["revision"] == item["revision"] and bool(stored["body"] == item["body"])
    return True


CONDITION = "attribute_not_exists(PK) OR fence <= :fence"


async def put_fenced(table: Table, lease: Lease, item: Item) -> None:
    """Write an item under the lease's fence. Raises ``LeaseLost`` if a higher fence has written.

    Repeating the write is harmless, because the existing item then has the same fence.
    """
    try:
        await table.put(
            {**item, "fence": lease.fence},
            condition=CONDITION,
            values={":fence": lease.fence},
        )
    except ConditionFailed:
        raise LeaseLost from None


async def put_all_fenced(table: Table, lease: Lease, items: Sequence[Item]) -> None:
    """Write up to 100 items, as ``put_fenced`` writes one, in one transaction.

    If others write the same items at the same time, they are written one by one.
    """
    values: Item = {":fence": lease.fence}
    writes = [Write.put({**item, "fence": lease.fence}, condition=CONDITION, values=values) for item in items]
    try:
        await table.transact(*writes)
    except TransactionFailed:
        for item in items:
            await put_fenced(table, lease, item)


MY_THREAD = "user_id = :user AND thread_status <> :deleted"
"""A condition, with the values ``:user`` and ``:deleted``."""


async def update_own(table: Table, scope: Scope, thread_id: str, expression: str, values: Item) -> Item:
    """Update the caller's own thread and return its item. Raises ``ThreadUnavailable``."""
    try:
        return await table.update(
            keys.thread(scope, thread_id),
            expression,
            {**values, ":user": scope.user_id, ":deleted": "deleted"},
            condition=f"attribute_exists(PK) AND {MY_THREAD}",
        )
    except ConditionFailed as failure:
        raise ThreadUnavailable(is_unused=failure.item is None) from None
