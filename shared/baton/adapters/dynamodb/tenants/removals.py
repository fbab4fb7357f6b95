"""The records of tenants' removals on DynamoDB."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import save_revised
from baton.adapters.dynamodb.shapes import Shape
from baton.adapters.dynamodb.table_stores import TableStore
from baton.domain.tenants.removal import TenantRemoval

_REMOVAL = Shape(TenantRemoval, "tenant_id", "revision")


class DynamoTenantRemovals(TableStore):
    """``TenantRemovals`` on the conversation table."""

    async def get(self, tenant_id: str) -> TenantRemoval | None:
        return await self._table.read(
            keys.removal(tenant_id),
            lambda item: _REMOVAL.unpack(item["removal"], tenant_id=tenant_id, revision=int(item["revision"])),
        )

    async def put(self, removal: TenantRemoval) -> bool:
        item: Item = {
            **keys.removal(removal.tenant_id),
            "removal": _REMOVAL.pack(removal),
            "closed": removal.is_confirmed,
            "revision": removal.revision,
        }
        return await save_revised(self._table, item)

    async def has_closed(self, tenant_id: str) -> bool:
        item = await self._table.get(keys.removal(tenant_id))
        return item is not None and bool(item["closed"])
