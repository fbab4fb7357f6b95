"""The removal of whole tenants from every store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.removal import TenantRemoval

Position = str | None
"""The place at which a pass through a store goes on; None for its beginning, and for its end in a result."""


class TenantRemovals(Protocol):
    """The records of removals, outside of the tenants' own data. Methods raise ``StoreUnavailable``."""

    async def get(self, tenant_id: str) -> TenantRemoval | None:
        """Return the tenant's last removal."""

    async def put(self, removal: TenantRemoval) -> bool:
        """Store a removal, unless it was changed since the revision before its own. Return whether it is stored."""

    async def has_closed(self, tenant_id: str) -> bool:
        """Return whether the tenant's removal has been confirmed."""


class TenantErasure(Protocol):
    """The removal of all items of a tenant from the table, whatever they are.

    Each pass goes through the whole table, a page after another, and may be repeated from any position.
    """

    async def count(self, scope: Scope, position: Position, *, keeps_audit: bool) -> tuple[Mapping[str, int], Position]:
        """Count the tenant's items of the next page, by kind, and return the next position.

        ``keeps_audit``: without audit records that have no content any more.
        """

    async def sweep(self, scope: Scope, position: Position, *, keeps_audit: bool) -> tuple[Mapping[str, int], Position]:
        """Remove the tenant's items of the next page, and return their counts and the next position.

        ``keeps_audit``: audit records only lose their content.
        """
