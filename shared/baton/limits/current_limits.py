"""A worker's copies of tenants' limits: one small read a minute and tenant, beside whatever else a turn reads."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from cachetools import LRUCache

from baton.background import in_background
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.tenant_limits import DeploymentLimits, TenantLimits
from baton.ports.clock import Clock
from baton.ports.tenant_limits import TenantLimitStore

FRESH = timedelta(minutes=1)
"""The age up to which a copy is used without a read."""
MAX_TENANTS = 1_000
"""Tenants whose limits a worker keeps. Those of the tenant that was longest away go first."""


@dataclass(slots=True)
class _Copy:
    limits: TenantLimits | None = None
    read_at: datetime | None = None
    reading: asyncio.Task[None] | None = None


class CurrentLimits:
    """What holds for a tenant now: its own limits, and never more than the deployment's."""

    def __init__(self, store: TenantLimitStore, deployment: DeploymentLimits, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._copies: LRUCache[str, _Copy] = LRUCache(MAX_TENANTS)
        self.deployment = deployment

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's limits if the copy is old, so that ``of`` need not wait."""
        copy = self._copy(scope)
        if not self._is_fresh(copy):
            self._reading(scope, copy)

    async def of(self, scope: Scope) -> DeploymentLimits:
        """Return the tenant's limits, at most a minute old.

        If they cannot be read, those of the last copy hold, or the deployment's: a limit is not worth an answer.
        """
        copy = self._copy(scope)
        if not self._is_fresh(copy):
            # Whatever else a turn needs of the table tells of the outage.
            with contextlib.suppress(StoreUnavailable):
                await asyncio.shield(self._reading(scope, copy))
        return (copy.limits or TenantLimits()).within(self.deployment)

    async def current(self, scope: Scope) -> DeploymentLimits:
        """Return the limits as they are stored now, for what is done rarely. Raises ``StoreUnavailable``."""
        return (await self._store.get(scope)).within(self.deployment)

    def forget(self, scope: Scope) -> None:
        """Read the tenant's limits again when they are next needed, because they have changed."""
        self._copies.pop(scope.tenant_id, None)

    def _is_fresh(self, copy: _Copy) -> bool:
        return copy.read_at is not None and self._clock.now() - copy.read_at < FRESH

    def _copy(self, scope: Scope) -> _Copy:
        return self._copies.setdefault(scope.tenant_id, _Copy())

    def _reading(self, scope: Scope, copy: _Copy) -> asyncio.Task[None]:
        """Return the read in progress, or a new one: that of an earlier event loop will never end."""
        reading = copy.reading
        if reading is None or reading.done() or reading.get_loop() is not asyncio.get_running_loop():
            copy.reading = reading = in_background(self._read(scope, copy), "reading of a tenant's limits")
        return reading

    async def _read(self, scope: Scope, copy: _Copy) -> None:
        now = self._clock.now()
        copy.limits = await self._store.get(scope)
        copy.read_at = now
