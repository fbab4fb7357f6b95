"""Writing items of a run, which only the latest holder of the thread's lease may do."""

from __future__ import annotations

from baton.adapters.dynamodb.table import ConditionFailed, Item, Table
from baton.domain.errors import LeaseLost
from baton.ports.thread_store import Lease


async def put_fenced(table: Table, lease: Lease, item: Item) -> None:
    """Write an item under the lease's fence. Raises ``LeaseLost`` where a higher fence has written.

    Repeating the write is harmless: what is there then bears the same fence.
    """
    try:
        await table.put(
            {**item, "fence": lease.fence},
            condition="attribute_not_exists(PK) OR fence <= :fence",
            values={":fence": lease.fence},
        )
    except ConditionFailed:
        raise LeaseLost from None
