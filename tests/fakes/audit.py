"""Audit records in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record, in the tenant of whoever acted."""

    scope: Scope
    action: str
    thread_id: str
    outcome: str
    detail: dict[str, Any]


@dataclass
class FakeAuditLog:
    """``ports.audit.AuditLog``."""

    records: list[AuditRecord] = field(default_factory=list)

    async def record(self, scope: Scope, action: str, *, thread_id: str, outcome: str, detail: dict[str, Any]) -> None:
        self.records.append(AuditRecord(scope, action, thread_id, outcome, detail))
