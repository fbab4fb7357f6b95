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
        for forget_request in self.requests.values():
            is_same = (forget_request.tenant_id, forget_request.subject, forget_request.thread_id) == (
                request.tenant_id,
                request.subject,
                request.thread_id,
            )
            if (
                is_same
                and forget_request.user_id == request.user_id
                and forget_request.is_running(request.requested_at)
            ):
                return forget_request
        self.requests[scope.tenant_id, request.id] = request
        return request

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest | None:
        return self.requests.get((scope.tenant_id, request_id))

    async def find_latest(self, scope: Scope, thread_id: str) -> ForgetRequest | None:
        requests = [
            request
            for (tenant_id, _), request in self.requests.items()
            if tenant_id == scope.tenant_id and request.thread_id == thread_id
        ]
        return max(requests, key=lambda forget_request: forget_request.requested_at, default=None)

    async def find_latest_of_retention(self, scope: Scope) -> ForgetRequest | None:
        requests = [
            request
            for (tenant_id, _), request in self.requests.items()
            if tenant_id == scope.tenant_id and request.subject is ForgetSubject.RETENTION
        ]
        return max(requests, key=lambda forget_request: forget_request.requested_at, default=None)

    async def save(self, scope: Scope, request: ForgetRequest) -> None:
        self.requests[scope.tenant_id, request.id] = request

    async def find_cutoff(self, scope: Scope, thread_id: str) -> datetime | None:
        ends = [
            request.cutoff_at or request.requested_at
            for (tenant_id, _), request in self.requests.items()
            if tenant_id == scope.tenant_id
            and (request.thread_id == thread_id or (request.thread_id is None and request.user_id == scope.user_id))
        ]
        return max(ends, default=None)
