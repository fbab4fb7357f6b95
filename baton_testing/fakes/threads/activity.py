"""Counts of activity in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from baton.domain.tenants.activity import Activity, Counter, ThreadUse
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.tenants import Change
from baton_testing.fakes.threads.leases import FakeLeases

ATTEMPTS = 24


class FakeActivityCounts:
    """``ports.tenants.tenants.ActivityCounts``."""

    def __init__(self, leases: FakeLeases) -> None:
        self._leases = leases
        self.counts: dict[tuple[str, Counter], Activity] = {}
        self.writes = 0

    async def get(self, scope: Scope, counter: Counter) -> Activity:
        return self.counts.get((scope.tenant_id, counter), Activity())

    async def change(self, scope: Scope, counter: Counter, change: Change, *, known: Activity | None = None) -> bool:
        activity = known if known is not None else await self.get(scope, counter)
        for _ in range(ATTEMPTS):
            changed = await change(activity)
            if changed is activity:
                return True
            present = await self.get(scope, counter)
            if present.revision == activity.revision:
                self.counts[scope.tenant_id, counter] = replace(changed, revision=activity.revision + 1)
                self.writes += 1
                return True
            activity = present
        return False

    async def threads(self, scope: Scope, thread_ids: Collection[str]) -> Mapping[str, ThreadUse]:
        keys = {thread_id: (scope.tenant_id, thread_id) for thread_id in thread_ids}
        rows = {thread_id: self._leases.rows.get(key) for thread_id, key in keys.items()}
        buried = {name: self._leases.tombstones[key] for name, key in keys.items() if key in self._leases.tombstones}
        return buried | {
            thread_id: ThreadUse(row.fence, row.until if row.owner is not None else None, row.thread.usage.total_tokens)
            for thread_id, row in rows.items()
            if row is not None
        }
