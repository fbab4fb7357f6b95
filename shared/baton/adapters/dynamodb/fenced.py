"""Write items of a run under its fence. Only the latest holder of the lease succeeds."""

from __future__ import annotations

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.errors import LeaseLost
from baton.ports.thread_store import Lease


async def put_fenced(table: Table, lease: Lease, item: Item) -> None:
    """Write an item under the lease's fence. Raises ``LeaseLost`` if a higher fence has written.

    Repeating the write is harmless, because the existing item then has the same fence.
    """
    try:
        await table.put(
            {**item, "fence": lease.fence},
            condition="attribute_not_exists(PK) OR fence <= :fence",
            values={":fence": lease.fence},
        )
    except ConditionFailed:
        raise LeaseLost from None
