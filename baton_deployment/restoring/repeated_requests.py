"""Requests to forget that were made since the restored time, repeated in the live stack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.audit import DynamoAuditLog
from baton.adapters.dynamodb.tenants.forget_requests import DynamoForgetRequests, DynamoRetentions
from baton.domain.memory.forgetting import ForgetRequest, ForgetSubject
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton.ports.tenants.privacy import Forgettings
from baton.tenants.privacy.forgetting import SUBJECT_ACTIONS
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.forgotten import ANYBODY, ForgottenSince, PastRequest


@dataclass(frozen=True, slots=True)
class RepeatedRequests:
    """The repetition of requests. The restore leaves out their subjects, and this removes anything that came back.

    A repetition has the cut-off of the original request, so that later messages of a user are kept.
    """

    live: Table
    forgotten: ForgottenSince
    forgettings: Forgettings
    clock: Clock

    async def repeat(self, tenants: Iterable[str], choice: Choice) -> int:
        """Begin the requests of these tenants again, one for each subject, and return their number.

        Requests about other conversations than that of ``choice`` are left out. Raises ``StoreUnavailable``.
        """
        self.forgotten.forget_cache()
        subjects: set[tuple[object, ...]] = set()
        for tenant_id in sorted(tenants):
            requests = (await self.forgotten.read_tenant(tenant_id)).requests
            # The last of several requests for one subject covers the others.
            for request in sorted(requests, key=lambda request: request.cutoff_at, reverse=True):
                subject = (tenant_id, request.subject, request.user_id, request.thread_id)
                if choice.thread_id is not None and request.thread_id not in (None, choice.thread_id):
                    continue
                if subject not in subjects:
                    subjects.add(subject)
                    await self._begin(tenant_id, request)
            await self._enforce_retention(Scope(tenant_id, ANYBODY))
        return len(subjects)

    async def _begin(self, tenant_id: str, request: PastRequest) -> None:
        """Store a request again under a new id, start it, and record it in the audit log."""
        repetition = ForgetRequest(
            self.clock.new_id(),
            tenant_id,
            request.subject,
            request.user_id,
            request.requested_by,
            self.clock.now(),
            request.thread_id,
            cutoff_at=request.cutoff_at,
        )
        opened = await DynamoForgetRequests(self.live, self.clock).open(repetition.scope, repetition)
        await self.forgettings.start(opened)
        detail = {"requestId": opened.id, "userId": request.user_id, "repeats": request.id}
        if request.subject is ForgetSubject.THREAD:
            detail["threadId"] = str(request.thread_id)
        requester = Scope(tenant_id, request.requested_by)
        action = SUBJECT_ACTIONS[request.subject]
        audit = DynamoAuditLog(self.live, self.clock)
        await audit.record(requester, action, thread_id=None, outcome="requested", detail=detail)

    async def _enforce_retention(self, scope: Scope) -> None:
        """Make the next sweep apply the tenant's retention to restored sessions, uploads and audit records."""
        retention = await DynamoRetentions(self.live, self.clock).get(scope)
        if retention.is_limited:
            await self.live.put({**keys.retention_due(scope.tenant_id), "due_at": to_millis(self.clock.now())})
