"""The items of a tenant in the table, whatever they are: a removal and an export find them in the same way.

A pass reads the keys of the whole table, so that it finds every item, whatever wrote it: new kinds need no line here.
Items outside of the tenant's partitions have its id in their key or as their ``tenant_id``.
"""

from __future__ import annotations

import json

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.item_kinds import find_kind
from baton.adapters.dynamodb.table import Table
from baton.domain.tenants.identity import Scope

_OWN = (
    "begins_with(PK, :own) OR (begins_with(PK, :global) AND (tenant_id = :tenant"
    " OR begins_with(SK, :attached) OR begins_with(SK, :waiting) OR (PK = :retentions AND SK = :tenant)))"
)


async def read_keys(
    table: Table, scope: Scope, position: str | None, *, consistent: bool = True
) -> tuple[list[Item], str | None]:
    """Return the keys of the tenant's items in a page of the table, and the position of the next page.

    None as the position is the beginning, and in the result the end. A position may be another tenant's key.
    Without ``consistent``, the read costs half, and may miss items of the last second.
    """
    own = f"{scope.tenant_id}#"
    values: Item = {
        ":own": own,
        ":global": "~",
        ":tenant": scope.tenant_id,
        ":attached": keys.connection("", own)["SK"],
        ":waiting": keys.waiting_runs(scope.tenant_id),
        ":retentions": keys.RETENTIONS,
    }
    after = json.loads(position) if position is not None else None
    pages = table.scan_keys(where=(_OWN, values), after=after, consistent=consistent)
    try:
        items, following = await anext(pages)
    finally:
        await pages.aclose()
    return items, json.dumps(dict(following)) if following is not None else None


def name_kind(item: Item) -> str:
    """Return the name under which an item is counted and exported; ``otherItems`` for one of a later release."""
    kind = find_kind(item)
    return kind.count_name if kind is not None else "otherItems"
