"""The stored data of tenants in memory, for exports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import RecordPage, StoredObject, StoredRecord


@dataclass
class FakeTenantRecords:
    """``ports.tenants.export.TenantRecords``. A page is one record of the table, which all tenants share."""

    records: dict[str, list[StoredRecord]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    """The numbers of records that each page with a record of the tenant leaves out, by kind."""

    async def read_page(self, scope: Scope, position: str | None) -> RecordPage:
        table = [(tenant_id, record) for tenant_id, records in self.records.items() for record in records]
        number = int(position or 0)
        own = [record for tenant_id, record in table[number : number + 1] if tenant_id == scope.tenant_id]
        following = str(number + 1) if number + 1 < len(table) else None
        return RecordPage(own, self.left_out if own else {}, following)


@dataclass
class FakeTenantFiles:
    """``ports.tenants.export.TenantFiles``."""

    objects: dict[str, list[StoredObject]] = field(default_factory=dict)
    failure: Exception | None = None

    async def list(self, scope: Scope, after: str | None) -> AsyncGenerator[StoredObject, None]:
        if self.failure is not None:
            raise self.failure
        for stored in sorted(self.objects.get(scope.tenant_id, []), key=lambda stored: stored.name):
            if after is None or stored.name > after:
                yield stored
