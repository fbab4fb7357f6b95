"""Requests to forget, and the permissions that they need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from baton.domain.errors import NotFound, ThreadLed
from baton.domain.memory.forgetting import ForgetRequest, ForgetStatus, ForgetSubject
from baton.domain.tenants.identity import ME, Permission, Scope
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.tenants.privacy import ForgetRequests, Forgettings
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.forks import is_led_by_parent
from baton.threads.requests.thread_access import get_own_thread, refusals_audited


def scope_of_user(scope: Scope, user_id: str, action: str) -> Scope:
    """Return the scope of the user that a path names. Another user than the caller needs ``user:manage``.

    Raises ``Forbidden`` and ``InvalidRequest``; neither depends on whether there is such a user.
    """
    if user_id in (ME, scope.user_id):
        return scope
    scope.require(Permission.USER_MANAGE, action)
    return Scope(scope.tenant_id, user_id)


@dataclass(frozen=True, slots=True)
class ForgetCalls:
    """Callers' requests to forget, and their progress."""

    store: ThreadStore
    requests: ForgetRequests
    forgettings: Forgettings
    audit: AuditLog
    clock: Clock
    wait: timedelta

    async def forget_user(self, scope: Scope, user_id: str) -> ForgetRequest:
        """Forget a user: everything said before the request's cut-off. Raises ``Forbidden``, ``StoreUnavailable``."""
        subject = scope_of_user(scope, user_id, "user.forget")
        return await self._begin(scope, self._request(scope, ForgetSubject.USER, subject.user_id))

    async def forget_thread(self, scope: Scope, thread_id: str) -> ForgetRequest:
        """Forget one of the caller's own threads, with its forks.

        While it is being forgotten, a repetition returns the same request. Raises ``ThreadUnavailable`` (audited),
        ``ThreadLed`` and ``StoreUnavailable``.
        """
        latest = await self.requests.latest(scope, thread_id)
        if latest is not None and latest.user_id == scope.user_id and latest.status is not ForgetStatus.COMPLETED:
            # Its tombstone hides the thread. Start the pipeline again, in case the worker died before that.
            if latest.is_running(self.clock.now()):
                await self.forgettings.start(latest)
                return latest
            return await self._begin(scope, self._about_thread(scope, thread_id))
        async with refusals_audited(self.audit, scope, thread_id, "thread.forget"):
            thread = await get_own_thread(self.store, scope, thread_id)
        if is_led_by_parent(thread):
            raise ThreadLed
        return await self._begin(scope, self._about_thread(scope, thread_id))

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest:
        """Return a request to its maker, its subject or a holder of ``user:manage``. Raises ``NotFound``."""
        request = await self.requests.get(scope, request_id)
        may_see = request is not None and (
            scope.user_id in (request.requested_by, request.user_id) or scope.has(Permission.USER_MANAGE)
        )
        if request is None or not may_see:
            raise NotFound("There is no such request.")
        return request

    def expected_cutoff(self, request: ForgetRequest) -> datetime | None:
        """Return the approximate time up to which messages are forgotten; None once it is fixed, or without one."""
        is_open = request.status is ForgetStatus.RUNNING and request.cutoff_at is None
        if not is_open or request.subject is ForgetSubject.RETENTION:
            return None
        return request.requested_at + self.wait

    def _about_thread(self, scope: Scope, thread_id: str) -> ForgetRequest:
        return replace(self._request(scope, ForgetSubject.THREAD, scope.user_id), thread_id=thread_id)

    def _request(self, scope: Scope, subject: ForgetSubject, user_id: str) -> ForgetRequest:
        return ForgetRequest(self.clock.new_id(), scope.tenant_id, subject, user_id, scope.user_id, self.clock.now())

    async def _begin(self, scope: Scope, request: ForgetRequest) -> ForgetRequest:
        forget_request = await self.requests.open(request.scope, request)
        await self.forgettings.start(forget_request)
        if forget_request.id == request.id:
            detail = {"requestId": request.id, "userId": request.user_id}
            if request.thread_id is not None:
                detail["threadId"] = request.thread_id
            action = "user.forget" if request.subject is ForgetSubject.USER else "thread.forget"
            await self.audit.record(scope, action, thread_id=None, outcome="requested", detail=detail)
        return forget_request
