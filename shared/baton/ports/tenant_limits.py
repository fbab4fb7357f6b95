"""Where tenants' limits are kept."""

from __future__ import annotations

from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.tenant_limits import TenantLimits


class TenantLimitStore(Protocol):
    """The limits that tenants have chosen. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope) -> TenantLimits:
        """Return the tenant's limits. Those that were never set are the deployment's."""
        ...

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        """Store the limits if nobody has changed them since the revision before theirs. Return whether they are stored.

        Repeating it after a lost answer returns True.
        """
        ...
