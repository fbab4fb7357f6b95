"""Audit records in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.tenants import audit
from baton_testing.fakes.clock import FakeClock


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record, with the scope of the user who acted."""

    scope: Scope
    action: str
    thread_id: str | None
    outcome: str
    detail: dict[str, Any]
    at: datetime


@dataclass
class FakeAuditLog:
    """``ports.tenants.audit.AuditTrail``."""

    clock: Clock = field(default_factory=FakeClock)
    records: list[AuditRecord] = field(default_factory=list)
    _written: set[tuple[str, str | None, datetime, str]] = field(default_factory=set)

    async def record(
        self,
        scope: Scope,
        action: str,
        *,
        thread_id: str | None,
        outcome: str,
        detail: dict[str, Any],
        once: audit.Once | None = None,
    ) -> None:
        at = from_millis(to_millis(once.at if once is not None else self.clock.now()))
        if once is not None:
            written = (scope.tenant_id, thread_id, at, once.key)
            if written in self._written:
                return
            self._written.add(written)
        self.records.append(AuditRecord(scope, action, thread_id, outcome, detail, at))

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[audit.AuditRecord], str | None]:
        return await self.of_tenant(scope, {"thread_id": thread_id}, limit=limit, cursor=cursor)

    async def of_tenant(
        self,
        scope: Scope,
        wanted: Mapping[str, str],
        *,
        limit: int,
        cursor: str | None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Sequence[audit.AuditRecord], str | None]:
        if cursor is not None and not cursor.isdecimal():
            raise InvalidRequest("cursor was not handed out by this list.")
        results = [
            record
            for record in (self._to_port_record(number) for number in range(len(self.records))[::-1])
            if record.tenant_id == scope.tenant_id
            and record.matches(wanted)
            and (since is None or record.at >= since)
            and (until is None or record.at <= until)
        ]
        start = int(cursor or 0)
        return results[start : start + limit], str(start + limit) if len(results) > start + limit else None

    def _to_port_record(self, number: int) -> audit.AuditRecord:
        audit_record = self.records[number]
        return audit.AuditRecord(
            id=str(number),
            at=audit_record.at,
            tenant_id=audit_record.scope.tenant_id,
            user_id=audit_record.scope.user_id,
            thread_id=audit_record.thread_id,
            action=audit_record.action,
            outcome=audit_record.outcome,
            detail=audit_record.detail,
        )
