"""Change a thread's item without a lease, if the thread is the caller's own."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Scope

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
