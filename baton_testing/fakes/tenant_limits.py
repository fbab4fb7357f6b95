"""Tenants' limits in memory."""

from __future__ import annotations

from baton.domain.identity import Scope
from baton.domain.tenant_limits import TenantLimits


class FakeTenantLimits:
    """``ports.tenant_limits.TenantLimitStore``."""

    def __init__(self) -> None:
        self.limits: dict[str, TenantLimits] = {}
        self.reads = 0

    async def get(self, scope: Scope) -> TenantLimits:
        self.reads += 1
        return self.limits.get(scope.tenant_id, TenantLimits())

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        stored = self.limits.get(scope.tenant_id, TenantLimits())
        if stored.revision != limits.revision - 1:
            return stored == limits
        self.limits[scope.tenant_id] = limits
        return True
