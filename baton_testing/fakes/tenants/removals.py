"""Removals of tenants, in memory."""

from __future__ import annotations

from baton.domain.tenants.removal import TenantRemoval


class FakeTenantRemovals:
    """``ports.tenants.removal.TenantRemovals``."""

    def __init__(self) -> None:
        self.removals: dict[str, TenantRemoval] = {}

    async def get(self, tenant_id: str) -> TenantRemoval | None:
        return self.removals.get(tenant_id)

    async def put(self, removal: TenantRemoval) -> bool:
        before = self.removals.get(removal.tenant_id)
        if removal.revision - 1 != (before.revision if before is not None else 0):
            return before == removal
        self.removals[removal.tenant_id] = removal
        return True

    async def has_closed(self, tenant_id: str) -> bool:
        removal = self.removals.get(tenant_id)
        return removal is not None and removal.is_confirmed
