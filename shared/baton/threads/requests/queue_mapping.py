"""Make the records of the turn queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton.domain.desks.desk_session import Person
from baton.domain.runs.interrupt import InterruptDecision
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads import queued
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import LeaseMark
from baton.domain.threads.turn_requests import ActionRequest, MessageRequest
from baton.domain.tracing import get_current_traceparent


def make_queued_message(
    scope: Scope, request: MessageRequest, *, request_id: str, subscriber: Subscriber | None = None
) -> queued.QueuedMessage:
    """Make the queue record of a message."""
    return queued.QueuedMessage(
        **_make_common_fields(scope, request.thread.id, request_id, subscriber), request=request
    )


def make_queued_decision(
    scope: Scope, thread_id: str, decision: InterruptDecision, *, request_id: str, subscriber: Subscriber | None = None
) -> queued.QueuedDecision:
    """Make the queue record of one decision. ``scope`` is that of the thread's owner, even if another user decides."""
    return queued.QueuedDecision(
        **_make_common_fields(replace(scope, permissions=frozenset()), thread_id, request_id, subscriber),
        interrupt_id=decision.interrupt_id,
        status=decision.status,
        payload=decision.payload,
        answered_by=decision.answered_by or scope.user_id,
    )


def make_queued_action(
    scope: Scope, request: ActionRequest, *, request_id: str, subscriber: Subscriber | None = None
) -> queued.QueuedAction:
    """Make the queue record of an action."""
    return queued.QueuedAction(
        **_make_common_fields(scope, request.thread.id, request_id, subscriber),
        action=request.action.value,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        about=request.about,
    )


def make_queued_close(
    scope: Scope,
    thread_id: str,
    episode: int,
    *,
    request_id: str,
    subscriber: Subscriber | None = None,
    closed_by: Person | None = None,
) -> queued.QueuedClose:
    """Make the queue record that ends the session number ``episode``, for the user or a person of a desk."""
    fields = _make_common_fields(replace(scope, subject_token=None), thread_id, request_id, subscriber)
    return queued.QueuedClose(**fields, episode=episode, closed_by=closed_by)


def make_queued_takeover(
    owner: Scope, thread_id: str, lease: LeaseMark | None, *, request_id: str
) -> queued.QueuedTakeover:
    """Make the queue record by which another worker finishes the run under ``lease``. It has no permissions."""
    return queued.QueuedTakeover(**_make_common_fields(_drop_permissions(owner), thread_id, request_id), lease=lease)


def make_queued_summary(scope: Scope, thread_id: str, due: SummaryDue) -> queued.QueuedSummary:
    """Make the queue record of a summary that is due. The queue drops repetitions for some minutes."""
    request_id = derive_record_id(thread_id, "summary", f"{due.thread_id} {due.agent_id} {due.below}")
    return queued.QueuedSummary(**_make_common_fields(_drop_permissions(scope), thread_id, request_id), due=due)


def make_queued_task_check(
    scope: Scope, thread_id: str, task_id: str, *, request_id: str, forgotten: queued.ForgottenTask | None = None
) -> queued.QueuedTaskCheck:
    """Make the queue record that has a background task checked, or a ``forgotten`` one stopped."""
    fields = _make_common_fields(scope, thread_id, request_id)
    return queued.QueuedTaskCheck(**fields, task_id=task_id, forgotten=forgotten)


def make_queued_title(scope: Scope, thread_id: str, run_id: str) -> queued.QueuedTitle:
    """Make the queue record of the title that is due after a run. The queue drops repetitions for some minutes."""
    request_id = derive_record_id(thread_id, "title", run_id)
    return queued.QueuedTitle(**_make_common_fields(_drop_permissions(scope), thread_id, request_id))


def _make_common_fields(
    scope: Scope, thread_id: str, request_id: str, subscriber: Subscriber | None = None
) -> dict[str, Any]:
    """Return the fields that every record has."""
    return {
        "tenant_id": scope.tenant_id,
        "user_id": scope.user_id,
        "permissions": tuple(sorted(scope.permissions)),
        "subject_token": scope.subject_token,
        "user_name": scope.name,
        "user_locale": scope.locale,
        "connection_id": subscriber.connection_id if subscriber else None,
        "connection_expires_at": int(subscriber.token_expires_at.timestamp()) if subscriber else 0,
        "request_id": request_id,
        "thread_id": thread_id,
        "traceparent": get_current_traceparent(),
    }


def _drop_permissions(scope: Scope) -> Scope:
    """Return the scope with the tenant and the user only, without permissions, token and name."""
    return Scope(scope.tenant_id, scope.user_id)
