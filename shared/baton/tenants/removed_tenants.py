"""The tenants whose removal is confirmed: they accept no requests, and nothing is written for them."""

from __future__ import annotations

from cachetools import LRUCache

from baton.domain.errors import TenantRemoved
from baton.domain.tenants.identity import TENANT_ID, Scope
from baton.ports.clock import Clock
from baton.ports.tenants.removal import TenantRemovals
from baton.tenants.tenant_copies import FRESH, MAX_TENANTS, AgedCopies

SYSTEM = "baton"
"""A user for scopes that name a tenant only."""


class RemovedTenants:
    """The refusal of removed tenants, at every request and before every write to the table.

    A process reads a tenant's state once a minute, so that a removal holds everywhere after a minute. If the state
    cannot be read, requests fail: otherwise a worker could write removed data back.
    """

    def __init__(self, removals: TenantRemovals, clock: Clock) -> None:
        self._copies: AgedCopies[bool] = AgedCopies(
            lambda scope, _: removals.has_closed(scope.tenant_id), clock, LRUCache(MAX_TENANTS), "a tenant's removal"
        )

    async def check(self, scope: Scope) -> None:
        """Raise ``TenantRemoved`` if the tenant is removed, and ``StoreUnavailable`` if its state cannot be read."""
        is_removed = self._copies.get_last(scope)  # a removal is final
        if is_removed or await self._copies.of(scope, since=FRESH, patience=None):
            raise TenantRemoved

    async def check_partition(self, partition: str) -> None:
        """Raise as ``check`` does if a partition of the table is a removed tenant's."""
        tenant_id = partition.partition("#")[0]
        if TENANT_ID.fullmatch(tenant_id):  # other partitions belong to no tenant, or to the project
            await self.check(Scope(tenant_id, SYSTEM))
