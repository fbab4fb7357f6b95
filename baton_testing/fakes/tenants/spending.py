"""Spending in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import Account, Hold, SpendingCounts, SpendingPeriod
from baton.ports.clock import Clock
from baton.ports.tenants.spending import Reservation


class FakeSpending:
    """``ports.tenants.spending.SpendingStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.counts: dict[tuple[str, Account], SpendingCounts] = {}
        self.writes = 0

    async def get(self, scope: Scope, account: Account) -> SpendingCounts:
        return self.counts.get((scope.tenant_id, account), SpendingCounts())

    async def reserve(
        self, scope: Scope, account: Account, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]
    ) -> Reservation:
        counts = (await self.get(scope, account)).at(hold.day)
        if name not in counts.holds:
            for expired, dead in counts.find_expired(self._clock.now()).items():
                counts = counts.settle(expired, dead.least)
            if counts.find_full(limits) is not None:
                return Reservation(counts, None)
            counts = self._write(scope, account, counts.reserve(name, hold))
        return Reservation(counts, counts.holds[name])

    async def settle(self, scope: Scope, account: Account, name: str, hold: Hold, cost: int) -> SpendingCounts | None:
        counts = await self.get(scope, account)
        return self._write(scope, account, counts.settle(name, cost)) if name in counts.holds else None

    async def note_warning(self, scope: Scope, account: Account, period: SpendingPeriod, number: int) -> bool:
        counts = await self.get(scope, account)
        if counts.warned.get(period) == number:
            return False
        self._write(scope, account, replace(counts, warned={**counts.warned, period: number}))
        return True

    def _write(self, scope: Scope, account: Account, counts: SpendingCounts) -> SpendingCounts:
        self.counts[scope.tenant_id, account] = counts
        self.writes += 1
        return counts
