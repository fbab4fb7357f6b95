"""Ports for the removal of whole tenants from every store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.removal import TenantRemoval

Position = str | None
"""The position at which a pass through a store continues; None for its beginning, and as a result for its end."""


class TenantRemovals(Protocol):
    """The records of removals, outside of the tenants' own data. Methods raise ``StoreUnavailable``."""

    async def get(self, tenant_id: str) -> TenantRemoval | None:
        """Return the tenant's last removal; None if there was none."""

    async def put(self, removal: TenantRemoval) -> bool:
        """Store a removal if the stored revision is the one before its own. Return whether it is stored."""

    async def has_closed(self, tenant_id: str) -> bool:
        """Return whether the tenant's removal has been confirmed."""


class TenantErasure(Protocol):
    """The removal of all items of a tenant from the table, whatever they are.

    Each pass goes through the whole table, page by page, and may be repeated from any position.
    """

    async def count(self, scope: Scope, position: Position, *, keeps_audit: bool) -> tuple[Mapping[str, int], Position]:
        """Count the tenant's items of the next page, by kind, and return the next position.

        ``keeps_audit``: audit records whose content was removed do not count.
        """

    async def sweep(self, scope: Scope, position: Position, *, keeps_audit: bool) -> tuple[Mapping[str, int], Position]:
        """Remove the tenant's items of the next page, and return their counts and the next position.

        ``keeps_audit``: audit records only lose their content.
        """
