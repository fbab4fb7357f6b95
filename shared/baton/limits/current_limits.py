"""A worker's copies of tenants' limits."""

from __future__ import annotations

from cachetools import LRUCache

from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.tenant_limits import DeploymentLimits, TenantLimits
from baton.limits.aged_copies import AgedCopies
from baton.ports.clock import Clock
from baton.ports.tenants import TenantLimitStore

MAX_TENANTS = 1_000
"""Tenants whose limits a worker keeps."""


class CurrentLimits:
    """What holds for a tenant now: its own limits, and never more than the deployment's."""

    def __init__(self, store: TenantLimitStore, deployment: DeploymentLimits, clock: Clock) -> None:
        self._store = store
        self._copies = AgedCopies(self._read, clock, LRUCache(MAX_TENANTS), "a tenant's limits")
        self.deployment = deployment

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's limits if the copy is old, so that ``of`` need not wait."""
        self._copies.begin(scope)

    async def of(self, scope: Scope) -> DeploymentLimits:
        """Return the tenant's limits, at most a minute old.

        If they cannot be read, those of the last copy hold, or the deployment's: a limit is not worth an answer.
        """
        try:
            limits: TenantLimits | None = await self._copies.of(scope)
        except StoreUnavailable:  # whatever else a turn needs of the table tells of the outage
            limits = self._copies.last(scope)
        return (limits or TenantLimits()).within(self.deployment)

    async def current(self, scope: Scope) -> DeploymentLimits:
        """Return the limits as they are stored now, for what is done rarely. Raises ``StoreUnavailable``."""
        return (await self._store.get(scope)).within(self.deployment)

    def forget(self, scope: Scope) -> None:
        """Read the tenant's limits again when they are next needed, because they have changed."""
        self._copies.forget(scope)

    async def _read(self, scope: Scope, _: TenantLimits | None) -> TenantLimits:
        return await self._store.get(scope)
