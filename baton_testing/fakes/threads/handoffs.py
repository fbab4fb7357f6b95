"""Handoffs in memory, under the same rules as the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from baton.domain.errors import InvalidRequest, LeaseLost
from baton.domain.handoffs.handoff import HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.tenants.audit import Once
from baton.ports.threads.leases import Lease
from baton_testing.fakes.tenants.audit import FakeAuditLog

_Place = tuple[int, int]


class FakeHandoffs:
    """``ports.threads.handoffs.HandoffStore``."""

    def __init__(self, audit: FakeAuditLog) -> None:
        self._audit = audit
        self._requests: defaultdict[tuple[str, str], dict[_Place, tuple[int, HandoffRequest]]] = defaultdict(dict)

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        of_thread = self._requests[lease.scope.tenant_id, lease.thread_id]
        position = (request.ordinal, request.number)
        if position in of_thread and of_thread[position][0] > lease.fence:
            raise LeaseLost
        ended_at = from_millis(to_millis(request.ended_at)) if request.ended_at is not None else None
        stored_request = replace(request, started_at=from_millis(to_millis(request.started_at)), ended_at=ended_at)
        of_thread[position] = (lease.fence, stored_request)
        began = "refused" if request.outcome is HandoffOutcome.REFUSED else "started"
        once = Once(request.id, stored_request.started_at)
        await self._audit.record(
            lease.scope, "handoff", thread_id=lease.thread_id, outcome=began, detail=request.audit_detail, once=once
        )

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        stored_request = self._requests[scope.tenant_id, thread_id].get((place.ordinal, place.number))
        return stored_request[1] if stored_request is not None else None

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        stored_requests = self._requests[scope.tenant_id, thread_id]
        requests = [stored_requests[position][1] for position in sorted(stored_requests, reverse=True)]
        ids = [request.id for request in requests]
        if cursor is not None and cursor not in ids:
            raise InvalidRequest("cursor was not handed out by this list.")
        below = requests if cursor is None else requests[ids.index(cursor) + 1 :]
        handoff_requests = below[:limit]
        return handoff_requests, handoff_requests[-1].id if len(below) > limit else None
