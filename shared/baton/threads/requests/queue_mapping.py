"""Map requests to records of the turn queue, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton.domain.tenants.identity import Scope, ThreadRef, derive_record_id, derive_run_id
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.interrupt import InterruptAnswer
from baton.domain.threads.queued import (
    QueuedAction,
    QueuedAnswer,
    QueuedClose,
    QueuedMessage,
    QueuedSummary,
    QueuedTakeover,
    QueuedTitle,
    Subscriber,
)
from baton.domain.threads.thread import LeaseMark
from baton.domain.tracing import current_traceparent
from baton.threads.requests.parsing import answer_request
from baton.threads.requests.turn_requests import ActionRequest, ConversationAction, MessageRequest, TurnRequest


def queued_message(
    scope: Scope, request: MessageRequest, *, request_id: str, subscriber: Subscriber | None = None
) -> QueuedMessage:
    """Make the queue record of a message."""
    return QueuedMessage(
        **_about(scope, request.thread.id, request_id, subscriber),
        may_create=request.thread.may_create,
        message_id=request.message_id,
        content=request.content,
        agent_id=request.agent_id,
        a2a_task=request.a2a_task,
        branch=request.branch,
        notifies=request.notifies,
        client=request.client,
        time_zone=request.time_zone,
    )


def queued_answer(
    scope: Scope, thread_id: str, answer: InterruptAnswer, *, request_id: str, subscriber: Subscriber | None = None
) -> QueuedAnswer:
    """Make the queue record of one answer. ``scope`` is that of the thread's owner, even if another user answered."""
    return QueuedAnswer(
        **_about(replace(scope, permissions=frozenset()), thread_id, request_id, subscriber),
        interrupt_id=answer.interrupt_id,
        status=answer.status,
        payload=answer.payload,
        answered_by=answer.answered_by or scope.user_id,
    )


def queued_action(
    scope: Scope, request: ActionRequest, *, request_id: str, subscriber: Subscriber | None = None
) -> QueuedAction:
    """Make the queue record of an action."""
    return QueuedAction(
        **_about(scope, request.thread.id, request_id, subscriber),
        action=request.action.value,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        about=request.about,
    )


def queued_close(
    scope: Scope, thread_id: str, episode: int, *, request_id: str, subscriber: Subscriber | None = None
) -> QueuedClose:
    """Make the queue record that ends the session number ``episode``."""
    return QueuedClose(**_about(replace(scope, subject_token=None), thread_id, request_id, subscriber), episode=episode)


def queued_takeover(owner: Scope, thread_id: str, lease: LeaseMark | None, *, request_id: str) -> QueuedTakeover:
    """Make the queue record that finishes the thread's run, whose worker had ``lease``. It has no permissions."""
    return QueuedTakeover(**_about(_without_rights(owner), thread_id, request_id), lease=lease)


def queued_summary(scope: Scope, thread_id: str, due: SummaryDue) -> QueuedSummary:
    """Make the queue record of a summary that is due. The queue drops repetitions for some minutes."""
    request_id = derive_record_id(thread_id, "summary", f"{due.thread_id} {due.agent_id} {due.below}")
    return QueuedSummary(**_about(_without_rights(scope), thread_id, request_id), due=due)


def queued_title(scope: Scope, thread_id: str, run_id: str) -> QueuedTitle:
    """Make the queue record of the title that is due after a run. The queue drops repetitions for some minutes."""
    request_id = derive_record_id(thread_id, "title", run_id)
    return QueuedTitle(**_about(_without_rights(scope), thread_id, request_id))


def _about(scope: Scope, thread_id: str, request_id: str, subscriber: Subscriber | None = None) -> dict[str, Any]:
    """Return the fields that every record has."""
    return {
        "tenant_id": scope.tenant_id,
        "user_id": scope.user_id,
        "permissions": tuple(sorted(scope.permissions)),
        "subject_token": scope.subject_token,
        "connection_id": subscriber.connection_id if subscriber else None,
        "connection_expires_at": int(subscriber.token_expires_at.timestamp()) if subscriber else 0,
        "request_id": request_id,
        "thread_id": thread_id,
        "traceparent": current_traceparent(),
    }


def _without_rights(scope: Scope) -> Scope:
    return Scope(scope.tenant_id, scope.user_id)


def from_queue(queued: QueuedMessage | QueuedAnswer | QueuedAction) -> TurnRequest:
    """Make the request of a queue record. The sender has checked its fields already."""
    if isinstance(queued, QueuedAction):
        run_id = derive_run_id(queued.thread_id, queued.message_id)
        thread = ThreadRef(queued.thread_id, queued.may_create)
        return ActionRequest(thread, queued.message_id, run_id, ConversationAction(queued.action), queued.about)
    if isinstance(queued, QueuedAnswer):
        answer = InterruptAnswer(queued.interrupt_id, queued.status, queued.payload, queued.answered_by)
        return answer_request(queued.thread_id, [answer])
    return MessageRequest(
        thread=ThreadRef(queued.thread_id, queued.may_create),
        message_id=queued.message_id,
        run_id=derive_run_id(queued.thread_id, queued.message_id),
        content=queued.content,
        agent_id=queued.agent_id,
        a2a_task=queued.a2a_task,
        branch=queued.branch,
        notifies=queued.notifies,
        client=queued.client,
        time_zone=queued.time_zone,
    )
