"""Requests to forget, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from baton.domain.memory.forgetting import ForgetRequest, ForgetSubject
from baton.domain.tenants.identity import Scope


@dataclass
class FakeForgetRequests:
    """``ports.tenants.privacy.ForgetRequests``."""

    requests: dict[tuple[str, str], ForgetRequest] = field(default_factory=dict)

    async def open(self, scope: Scope, request: ForgetRequest) -> ForgetRequest:
        for known in self.requests.values():
            is_same = (known.tenant_id, known.subject, known.thread_id) == (
                request.tenant_id,
                request.subject,
                request.thread_id,
            )
            if is_same and known.user_id == request.user_id and known.is_running(request.requested_at):
                return known
        self.requests[scope.tenant_id, request.id] = request
        return request

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest | None:
        return self.requests.get((scope.tenant_id, request_id))

    async def latest(self, scope: Scope, thread_id: str) -> ForgetRequest | None:
        found = [
            known
            for (tenant_id, _), known in self.requests.items()
            if tenant_id == scope.tenant_id and known.thread_id == thread_id
        ]
        return max(found, key=lambda known: known.requested_at, default=None)

    async def latest_of_retention(self, scope: Scope) -> ForgetRequest | None:
        found = [
            known
            for (tenant_id, _), known in self.requests.items()
            if tenant_id == scope.tenant_id and known.subject is ForgetSubject.RETENTION
        ]
        return max(found, key=lambda known: known.requested_at, default=None)

    async def save(self, scope: Scope, request: ForgetRequest) -> None:
        self.requests[scope.tenant_id, request.id] = request

    async def cutoff(self, scope: Scope, thread_id: str) -> datetime | None:
        ends = [
            known.cutoff_at or known.requested_at
            for (tenant_id, _), known in self.requests.items()
            if tenant_id == scope.tenant_id
            and (known.thread_id == thread_id or (known.thread_id is None and known.user_id == scope.user_id))
        ]
        return max(ends, default=None)
