"""Write items of a run under its fence. Only the latest holder of the lease succeeds."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table, TransactionFailed, Write
from baton.domain.errors import LeaseLost
from baton.ports.leases import Lease

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
