"""The stored data of tenants in memory, for exports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import RecordPage, StoredObject, StoredRecord


@dataclass
class FakeTenantRecords:
    """``ports.tenants.export.TenantRecords``. A page has one record."""

    records: dict[str, list[StoredRecord]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    """The numbers of records that each page leaves out, by kind."""

    async def read_page(self, scope: Scope, position: str | None) -> RecordPage:
        own, number = self.records.get(scope.tenant_id, []), int(position or 0)
        following = str(number + 1) if number + 1 < len(own) else None
        return RecordPage(own[number : number + 1], self.left_out, following)


@dataclass
class FakeTenantFiles:
    """``ports.tenants.export.TenantFiles``."""

    objects: dict[str, list[StoredObject]] = field(default_factory=dict)
    failure: Exception | None = None

    async def list(self, scope: Scope, after: str | None) -> AsyncGenerator[StoredObject, None]:
        if self.failure is not None:
            raise self.failure
        for stored in self.objects.get(scope.tenant_id, []):
            if after is None or stored.name > after:
                yield stored
