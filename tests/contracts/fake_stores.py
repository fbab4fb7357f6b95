"""Fake stores."""

from __future__ import annotations

from typing import Any

from baton.domain.tenants.identity import Scope
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import Stores
from tests.fakes.ports import FakePorts


class _FakeStores(FakePorts, Stores):
    async def audit_records(self, scope: Scope) -> list[dict[str, Any]]:
        return [
            {
                "user_id": record.scope.user_id,
                "action": record.action,
                "outcome": record.outcome,
                "thread_id": record.thread_id,
                "detail": record.detail,
            }
            for record in self.audit.records
            if record.scope.tenant_id == scope.tenant_id
        ]

    async def bury(self, scope: Scope, thread_id: str) -> None:
        self.store.bury(scope, thread_id)

    async def unbury(self, scope: Scope, thread_id: str) -> None:
        del self.store.tombstones[scope.tenant_id, thread_id]


def in_memory(clock: FakeClock | None = None) -> Stores:
    """Return a tenant in the fakes."""
    return _FakeStores(clock=clock or FakeClock())
