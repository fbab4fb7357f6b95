"""The contract of stores of tenants' limits."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import QuietHours, SelfStartedRuns
from baton.domain.tenants.tenant_limits import TenantLimits
from baton.ports.tenants.tenants import TenantLimitStore


class TenantLimitContract:
    """Limits are changed by one at a time, and belong to one tenant."""

    async def test_limits_are_read_as_they_were_stored(self, limits: TenantLimitStore) -> None:
        ada = Scope(f"t{uuid.uuid4().hex}", "ada")
        assert await limits.get(ada) == TenantLimits()
        rules = SelfStartedRuns(enabled=False, per_user_per_day=3, quiet_hours=QuietHours(begin="22:00", end="07:00"))
        first = TenantLimits(
            agents=0,
            thread_tokens=10**12,
            self_started_runs=rules,
            revision=1,
            changed_by="ada",
            changed_at=datetime(2026, 3, 14, tzinfo=UTC),
        )
        assert await limits.put(ada, first)
        assert await limits.get(ada) == first
        assert await limits.get(Scope(f"{ada.tenant_id}-2", "ada")) == TenantLimits()
        assert await limits.put(ada, first.model_copy(update={"agents": None, "revision": 2}))
        assert (await limits.get(ada)).agents is None

    async def test_a_change_of_what_has_changed_since_is_not_stored(self, limits: TenantLimitStore) -> None:
        ada = Scope(f"t{uuid.uuid4().hex}", "ada")
        first = TenantLimits(agents=1, revision=1, changed_by="ada")
        assert await limits.put(ada, first)
        assert await limits.put(ada, first)
        assert not await limits.put(ada, first.model_copy(update={"agents": 2}))
        assert not await limits.put(ada, first.model_copy(update={"revision": 3}))
        second = first.model_copy(update={"agents": 3, "revision": 2})
        assert await limits.put(ada, second)
        assert not await limits.put(ada, first.model_copy(update={"changed_by": "bob"}))
        assert await limits.get(ada) == second
