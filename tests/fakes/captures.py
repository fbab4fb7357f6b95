"""Captures of procedures, their pipeline and their announcements, in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStatus, CaptureStep
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.memory.procedures import PendingProcedure


class FakeCaptureStore:
    """``ports.memory.procedures.CaptureStore``."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str, str], Capture] = {}
        """By tenant, thread and id."""
        self._taken: Counter[tuple[str, str, date]] = Counter()

    async def get(self, scope: Scope, ref: CaptureRef) -> Capture | None:
        return self.records.get((scope.tenant_id, ref.thread_id, ref.id))

    async def save(self, scope: Scope, capture: Capture) -> Capture:
        key = (scope.tenant_id, capture.ref.thread_id, capture.ref.id)
        existing = self.records.get(key)
        if existing is not None and not _may_replace(existing, capture):
            return existing
        at = from_millis(to_millis(capture.updated_at)) if capture.updated_at is not None else None
        self.records[key] = replace(capture, updated_at=at)
        return capture

    async def take_allowance(self, scope: Scope, agent_id: str, day: date, limit: int) -> bool:
        key = (scope.tenant_id, agent_id, day)
        if self._taken[key] >= limit:
            return False
        self._taken[key] += 1
        return True


def _may_replace(stored: Capture, capture: Capture) -> bool:
    if capture.status is CaptureStatus.FAILED:
        return not stored.is_settled
    if stored.status is CaptureStatus.FAILED:
        return True
    return not stored.is_settled and _stage(stored) < _stage(capture)


def _stage(capture: Capture) -> int:
    return list(CaptureStep).index(capture.done) + 1 if capture.done is not None else 0


@dataclass
class FakeCaptures:
    """``ports.memory.procedures.Captures``: notes what is started."""

    started: list[tuple[Scope, CaptureRef, int]] = field(default_factory=list)
    is_down: bool = False

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        if self.is_down:
            raise StoreUnavailable
        if (scope, ref, attempt) not in self.started:
            self.started.append((scope, ref, attempt))


@dataclass
class FakeAnnouncements:
    """``ports.memory.procedures.Announcements``: notes what is announced."""

    pending: list[tuple[str, PendingProcedure]] = field(default_factory=list)
    """With the tenant."""
    is_down: bool = False

    async def procedure_pending(self, scope: Scope, procedure: PendingProcedure) -> None:
        if self.is_down:
            raise StoreUnavailable
        self.pending.append((scope.tenant_id, procedure))
