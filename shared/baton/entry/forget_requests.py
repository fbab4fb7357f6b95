"""Requests to forget a user or a thread, and the permissions that callers need for them."""

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


def get_scope_of_user(scope: Scope, user_id: str, action: str) -> Scope:
    """Return the scope of the user in a path. The caller needs ``user:manage`` for other users.

    Raises ``Forbidden``, and ``InvalidRequest`` for an invalid user id. It does not check whether the user exists.
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
    """The time from a request to its second sweep, which fixes the cut-off."""

    async def forget_user(self, scope: Scope, user_id: str) -> ForgetRequest:
        """Begin to forget a user's data from before the cut-off, and return the request for its progress.

        Raises ``Forbidden``, ``InvalidRequest`` and ``StoreUnavailable``.
        """
        subject = get_scope_of_user(scope, user_id, "user.forget")
        return await self._begin(scope, self._make_request(scope, ForgetSubject.USER, subject.user_id))

    async def forget_thread(self, scope: Scope, thread_id: str) -> ForgetRequest:
        """Begin to forget one of the caller's own threads with its forks, and return the request for its progress.

        Repeated calls return the same request while the thread is being forgotten. Raises ``ThreadUnavailable``, which
        is audited, ``ThreadLed`` and ``StoreUnavailable``.
        """
        latest = await self.requests.find_latest(scope, thread_id)
        if latest is not None and latest.user_id == scope.user_id and latest.status is not ForgetStatus.COMPLETED:
            # The thread's tombstone hides it already. The pipeline is started again in case a worker died before that.
            if latest.is_running(self.clock.now()):
                await self.forgettings.start(latest)
                return latest
            return await self._begin(scope, self._make_thread_request(scope, thread_id))
        async with refusals_audited(self.audit, scope, thread_id, "thread.forget"):
            thread = await get_own_thread(self.store, scope, thread_id)
        if is_led_by_parent(thread):
            raise ThreadLed
        return await self._begin(scope, self._make_thread_request(scope, thread_id))

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest:
        """Return a request if the caller has made it, is its subject or has ``user:manage``. Raises ``NotFound``."""
        request = await self.requests.get(scope, request_id)
        may_see = request is not None and (
            scope.user_id in (request.requested_by, request.user_id) or scope.has(Permission.USER_MANAGE)
        )
        if request is None or not may_see:
            raise NotFound("There is no such request.")
        return request

    def estimate_cutoff(self, request: ForgetRequest) -> datetime | None:
        """Return an estimate of the time up to which messages will be forgotten.

        Return None once the cut-off is fixed, and for requests without a cut-off.
        """
        is_open = request.status is ForgetStatus.RUNNING and request.cutoff_at is None
        if not is_open or request.subject is ForgetSubject.RETENTION:
            return None
        return request.requested_at + self.wait

    def _make_thread_request(self, scope: Scope, thread_id: str) -> ForgetRequest:
        return replace(self._make_request(scope, ForgetSubject.THREAD, scope.user_id), thread_id=thread_id)

    def _make_request(self, scope: Scope, subject: ForgetSubject, user_id: str) -> ForgetRequest:
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
