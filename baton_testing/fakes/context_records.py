"""The Context Inspector's records, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.domain.identity import Scope
from baton.ports.run_records import ContextRecord


@dataclass
class FakeContextRecords:
    """``ports.run_records.ContextRecords``. ``records``: (tenant, thread, run) -> record."""

    records: dict[tuple[str, str, str], ContextRecord] = field(default_factory=dict)
    failure: Exception | None = None
    """The error that every method raises."""

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        if self.failure is not None:
            raise self.failure
        self.records[scope.tenant_id, thread_id, run_id] = record

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> ContextRecord | None:
        if self.failure is not None:
            raise self.failure
        return self.records.get((scope.tenant_id, thread_id, run_id))
