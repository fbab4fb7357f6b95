"""Records that are replaced as a whole: each write names the revision that it was made from."""

from __future__ import annotations

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table


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
