"""Map requests to records of the turn queue, and back."""

from __future__ import annotations

from baton.domain.content import content_as_json, content_from_json
from baton.domain.history_window import SummaryDue
from baton.domain.identity import Scope, ThreadRef, derived_record_id, derived_run_id
from baton.domain.interrupt import InterruptAnswer
from baton.domain.queued import QueuedAction, QueuedAnswer, QueuedMessage, QueuedSummary, QueuedTitle
from baton.requests.parsing import answer_request
from baton.requests.turn_requests import ActionRequest, ConversationAction, MessageRequest, TurnRequest


def queued_message(
    scope: Scope, request: MessageRequest, *, connection_id: str | None, connection_expires_at: int, request_id: str
) -> QueuedMessage:
    """Make the queue record of a message."""
    return QueuedMessage(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=tuple(sorted(scope.permissions)),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        subject_token=scope.subject_token,
        thread_id=request.thread.id,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        content=content_as_json(request.content),
        agent_id=request.agent_id,
        a2a_task=request.a2a_task,
        branch=request.branch,
        notifies=request.notifies,
        client=request.client,
        time_zone=request.time_zone,
    )


def queued_answer(
    scope: Scope,
    thread_id: str,
    answer: InterruptAnswer,
    *,
    connection_id: str | None,
    connection_expires_at: int,
    request_id: str,
) -> QueuedAnswer:
    """Make the queue record of one answer. ``scope`` is that of the thread's owner, also if someone else answered."""
    return QueuedAnswer(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=(),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        subject_token=scope.subject_token,
        thread_id=thread_id,
        interrupt_id=answer.interrupt_id,
        status=answer.status,
        payload=answer.payload,
        answered_by=answer.answered_by or scope.user_id,
    )


def queued_action(
    scope: Scope, request: ActionRequest, *, connection_id: str | None, connection_expires_at: int, request_id: str
) -> QueuedAction:
    """Make the queue record of an action."""
    return QueuedAction(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=tuple(sorted(scope.permissions)),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        subject_token=scope.subject_token,
        thread_id=request.thread.id,
        action=request.action.value,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        workflow_id=request.about,
    )


def queued_summary(scope: Scope, thread_id: str, due: SummaryDue) -> QueuedSummary:
    """Make the queue record of a summary that is due. The queue drops repetitions for some minutes."""
    return QueuedSummary(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=(),
        connection_id=None,
        connection_expires_at=0,
        request_id=derived_record_id(thread_id, "summary", f"{due.thread_id} {due.agent_id} {due.below}"),
        thread_id=thread_id,
        due=due,
    )


def queued_title(scope: Scope, thread_id: str, run_id: str) -> QueuedTitle:
    """Make the queue record of the title that is due after a run. The queue drops repetitions for some minutes."""
    return QueuedTitle(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=(),
        connection_id=None,
        connection_expires_at=0,
        request_id=derived_record_id(thread_id, "title", run_id),
        thread_id=thread_id,
    )


def from_queue(queued: QueuedMessage | QueuedAnswer | QueuedAction) -> TurnRequest:
    """Make the request of a queue record. The sender has checked its fields already."""
    if isinstance(queued, QueuedAction):
        run_id = derived_run_id(queued.thread_id, queued.message_id)
        thread = ThreadRef(queued.thread_id, queued.may_create)
        return ActionRequest(thread, queued.message_id, run_id, ConversationAction(queued.action), queued.workflow_id)
    if isinstance(queued, QueuedAnswer):
        answer = InterruptAnswer(queued.interrupt_id, queued.status, queued.payload, queued.answered_by)
        return answer_request(queued.thread_id, [answer])
    return MessageRequest(
        thread=ThreadRef(queued.thread_id, queued.may_create),
        message_id=queued.message_id,
        run_id=derived_run_id(queued.thread_id, queued.message_id),
        content=content_from_json(queued.content),
        agent_id=queued.agent_id,
        a2a_task=queued.a2a_task,
        branch=queued.branch,
        notifies=queued.notifies,
        client=queued.client,
        time_zone=queued.time_zone,
    )
