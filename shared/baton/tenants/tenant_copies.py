"""A worker's copies of tenants' settings: one small read for each tenant and minute, during a turn's other reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from cachetools import LRUCache

from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import DeploymentLimits, TenantLimits
from baton.failures.reports import in_background
from baton.ports.clock import Clock
from baton.ports.tenants.tenants import TenantLimitStore

FRESH = timedelta(minutes=1)
"""The age up to which a copy is used without a read."""
STALE = timedelta(minutes=5)
"""The age up to which a turn uses a copy if the read takes longer than ``PATIENCE_SECONDS``."""
GRACE = timedelta(hours=1)
"""The age up to which a copy is used while reads fail."""
PATIENCE_SECONDS = 0.2
"""The longest wait of a turn for a read while there is a usable copy."""
READING_SECONDS = 20.0
"""The age of a read from which another one is begun: the worker of the first read may have been frozen."""
MAX_TENANTS = 1_000
"""The number of tenants of whom a worker keeps copies."""

V = TypeVar("V")


@dataclass(slots=True)
class Copy(Generic[V]):
    """A tenant's value as it was read last."""

    value: V | None = None
    read_at: datetime | None = None
    """The time of the read; None if the value was never read, or has changed since."""
    reading: asyncio.Task[None] | None = None
    reading_since: datetime | None = None
    """The time at which ``reading`` began."""


@dataclass(frozen=True)
class AgedCopies(Generic[V]):
    """Copies by tenant. The copy of the tenant least recently used is dropped first."""

    read: Callable[[Scope, V | None], Awaitable[V]]
    """A function that reads a tenant's value. Its second argument is the value that was read last; None if none was."""
    clock: Clock
    copies: LRUCache[str, Copy[V]]
    """The copies by tenant; its bound limits them."""
    name: str
    """The value's name in logs."""
    note_failure: Callable[[], None] = lambda: None
    """A function that is called whenever an old copy replaces a failed read."""

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's value if the copy is old, so that the caller can read other things meanwhile."""
        copy = self._copy(scope)
        if copy.read_at is None or self.clock.now() - copy.read_at >= FRESH:
            self._begin_reading(scope, copy)

    async def of(self, scope: Scope, *, since: timedelta = FRESH, patience: float | None = PATIENCE_SECONDS) -> V:
        """Return the tenant's value: a copy younger than ``since``, otherwise a new one.

        If the read takes longer than ``patience`` (seconds; None: any time), a copy of the last five minutes is used;
        if the read fails, a copy of the last hour. Raises ``StoreUnavailable`` if there is none, or if the read fails
        without a limit of patience.
        """
        copy, now = self._copy(scope), self.clock.now()
        age = now - copy.read_at if copy.read_at is not None else None
        if copy.value is not None and age is not None and age < since:
            return copy.value
        reading = self._begin_reading(scope, copy)
        try:
            async with asyncio.timeout(patience if age is not None and age < STALE else None):
                await asyncio.shield(reading)
        except TimeoutError:
            pass  # the read continues for the next turn
        except BatonError:
            if age is None or age >= GRACE or patience is None:
                raise
            self.note_failure()
        assert copy.value is not None  # noqa: S101 - it was read now, or before
        return copy.value

    def get_last(self, scope: Scope) -> V | None:
        """Return the value that was read last, however old it is; None if none was read."""
        return self._copy(scope).value

    def forget(self, scope: Scope) -> None:
        """Read the tenant's value again when it is next needed, because it has changed."""
        copy = self.copies.get(scope.tenant_id)
        if copy is not None:
            self.copies[scope.tenant_id] = Copy(copy.value)

    def _copy(self, scope: Scope) -> Copy[V]:
        return self.copies.setdefault(scope.tenant_id, Copy())

    def _begin_reading(self, scope: Scope, copy: Copy[V]) -> asyncio.Task[None]:
        """Return the read in progress, or a new one."""
        now, loop = self.clock.now(), asyncio.get_running_loop()
        is_usable = (
            copy.reading is not None
            and not copy.reading.done()
            and copy.reading.get_loop() is loop
            and copy.reading_since is not None
            and (now - copy.reading_since).total_seconds() < READING_SECONDS
        )
        if copy.reading is None or not is_usable:
            copy.reading_since = now
            copy.reading = in_background(self._read(scope, copy, now), f"reading of {self.name}")
        return copy.reading

    async def _read(self, scope: Scope, copy: Copy[V], now: datetime) -> None:
        copy.value = await self.read(scope, copy.value)
        copy.read_at = now
        if self.copies.get(scope.tenant_id) is copy:
            self.copies[scope.tenant_id] = copy  # so that the cache counts its new size


class CurrentLimits:
    """The limits in force for a tenant: its own, but at most the deployment's."""

    def __init__(self, store: TenantLimitStore, deployment: Callable[[], DeploymentLimits], clock: Clock) -> None:
        """``deployment`` returns the limits that currently hold for every tenant."""
        self._store = store
        self._copies: AgedCopies[TenantLimits] = AgedCopies(
            lambda scope, _: store.get(scope), clock, LRUCache(MAX_TENANTS), "a tenant's limits"
        )
        self._deployment = deployment

    @property
    def deployment(self) -> DeploymentLimits:
        """The limits that currently hold for every tenant."""
        return self._deployment()

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's limits if the copy is old, so that ``of`` need not wait."""
        self._copies.begin(scope)

    async def of(self, scope: Scope) -> DeploymentLimits:
        """Return the tenant's limits, from a copy as ``AgedCopies.of`` does.

        If they cannot be read, the last copy is used, or the deployment's limits: a limit must not cost an answer.
        """
        try:
            limits: TenantLimits | None = await self._copies.of(scope)
        except StoreUnavailable:  # the turn's other reads of the table report the outage
            limits = self._copies.get_last(scope)
        return (limits or TenantLimits()).within(self.deployment)

    async def read_current(self, scope: Scope) -> DeploymentLimits:
        """Return the limits as they are stored now, for rare operations. Raises ``StoreUnavailable``."""
        return (await self._store.get(scope)).within(self.deployment)

    def forget(self, scope: Scope) -> None:
        """Read the tenant's limits again when they are next needed, because they have changed."""
        self._copies.forget(scope)
