"""What callers ask for, checked and in Baton's own terms, whichever transport it came by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from baton.domain.content import content_as_json, content_digest, content_from_json, parse_content
from baton.domain.errors import InvalidRequest
from baton.domain.identity import (
    MAX_MESSAGE_ID,
    Scope,
    ThreadRef,
    derived_record_id,
    derived_run_id,
    derived_thread_ref,
    is_printable,
    thread_ref,
)
from baton.domain.interrupt import AnswerStatus, InterruptAnswer, answer_message_id
from baton.domain.message import Content
from baton.domain.queued import QueuedAction, QueuedAnswer, QueuedMessage

MAX_PAYLOAD = 4_096
"""Characters of an answer's payload, as JSON: it is kept with the thread until the run goes on."""


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A user's message that asks for a turn."""

    thread: ThreadRef
    message_id: str
    run_id: str
    content: Content
    agent_id: str | None = None

    @property
    def digest(self) -> str:
        return content_digest(self.content)


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A person's answers to what a run waits for; they ask for the run that goes on."""

    thread: ThreadRef
    run_id: str
    answers: tuple[InterruptAnswer, ...]
    """At least one, all of the same run."""

    @property
    def message_id(self) -> str:
        return answer_message_id(self.answers[0].interrupt_id)

    @property
    def content(self) -> Content:
        """Nobody has said anything: what the run begins with is the result of a call."""
        return ""

    @property
    def agent_id(self) -> str | None:
        return None

    @property
    def digest(self) -> str:
        """The same for every answer: the first one counts, a repeated one is a repeated message."""
        return content_digest(self.message_id)


class ConversationAction(StrEnum):
    """What can be asked of a conversation without a message."""

    EXIT = "exit"
    """Leave the specialist."""
    CONTINUE = "continue"
    """Take up an unfinished workflow."""
    MERGE = "merge"
    """Take the last answer of a fork over into its parent."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action, which asks for a run of its own."""

    thread: ThreadRef
    message_id: str
    run_id: str
    action: ConversationAction
    about: str | None = None
    """The workflow to continue, or the fork whose answer is taken over."""

    @property
    def content(self) -> Content:
        """Nobody has said anything."""
        return ""

    @property
    def agent_id(self) -> str | None:
        return None

    @property
    def source(self) -> str:
        """The action as the first message of its run keeps it, by which a run is known again whose worker died."""
        return self.action.value if self.about is None else f"{self.action.value}:{self.about}"

    @property
    def digest(self) -> str:
        return content_digest(self.source)


TurnRequest = MessageRequest | AnswerRequest | ActionRequest
"""What a run can be asked for with."""


def exit_request(thread_id: str, *, key: str) -> ActionRequest:
    """Leave the specialist; requests with the same ``key`` are one."""
    return _action_request(thread_id, ConversationAction.EXIT, key, None)


def continue_request(thread_id: str, workflow_id: object, *, key: str, may_create: bool = False) -> ActionRequest:
    """Take up an unfinished workflow; requests with the same ``key`` are one. Raises ``InvalidRequest``.

    With ``may_create`` a conversation may begin with it.
    """
    named = named_workflow(workflow_id)
    return _action_request(thread_id, ConversationAction.CONTINUE, key, named, may_create=may_create)


def merge_request(thread_id: str, fork_thread_id: str, answer_id: str) -> ActionRequest:
    """Take over the answer ``answer_id`` of a fork; once, however often it is asked."""
    return _action_request(
        thread_id, ConversationAction.MERGE, fork_thread_id + answer_id, f"{fork_thread_id}/{answer_id}"
    )


def named_answer(request: ActionRequest) -> tuple[str, str]:
    """The fork and the answer that a request to merge names."""
    fork_thread_id, _, answer_id = (request.about or "").partition("/")
    return fork_thread_id, answer_id


def action_request_again(thread: ThreadRef, message_id: str, run_id: str, source: str | None) -> ActionRequest | None:
    """The action whose run's first message says ``source``; None if it says none."""
    action, _, about = (source or "").partition(":")
    if action not in set(ConversationAction):
        return None
    return ActionRequest(thread, message_id, run_id, ConversationAction(action), about or None)


def _action_request(
    thread_id: str, action: ConversationAction, key: str, about: str | None, *, may_create: bool = False
) -> ActionRequest:
    message_id = f"{action.value}-{derived_record_id(thread_id, action.value, key)}"
    run_id = derived_run_id(thread_id, message_id)
    return ActionRequest(ThreadRef(thread_id, may_create), message_id, run_id, action, about)


def answer_request(thread_id: str, answers: Sequence[InterruptAnswer], *, run_id: object = None) -> AnswerRequest:
    """Check the answers' ids. Raises ``InvalidRequest`` unless they belong to one run."""
    ids = {answer.interrupt_id for answer in answers}
    if len(ids) != len(answers) or len({answer_message_id(each) for each in ids}) != 1:
        raise InvalidRequest("resume: answer the interrupts of one run, each once and by its id.")
    message_id = answer_message_id(answers[0].interrupt_id)
    run_id = optional_run_id(run_id)
    thread = ThreadRef(thread_id, may_create=False)
    return AnswerRequest(thread, run_id or derived_run_id(thread_id, message_id), tuple(answers))


def interrupt_answer(interrupt_id: object, status: object, payload: object, answered_by: str) -> InterruptAnswer:
    """Check the fields of one answer. Raises ``InvalidRequest``."""
    if not isinstance(interrupt_id, str) or not is_printable(interrupt_id, MAX_MESSAGE_ID):
        raise InvalidRequest("interruptId must be the id of an interrupt.")
    if not isinstance(status, str) or status not in set(AnswerStatus):
        raise InvalidRequest("status must be 'resolved' or 'cancelled'.")
    is_approval = payload is None or (isinstance(payload, dict) and isinstance(payload.get("approved", True), bool))
    if not is_approval:
        raise InvalidRequest('payload must be {"approved": true or false, "comment"?: "..."}, or absent.')
    if len(json.dumps(payload)) > MAX_PAYLOAD:
        raise InvalidRequest(f"payload must be at most {MAX_PAYLOAD} characters of JSON.")
    return InterruptAnswer(interrupt_id, AnswerStatus(status), payload, answered_by)


def message_request(
    scope: Scope,
    *,
    thread_id: object,
    message_id: object,
    content: object,
    agent_id: object = None,
    run_id: object = None,
) -> MessageRequest:
    """Check the fields of a message. Raises ``InvalidRequest``, ``UnsupportedPart`` and ``MessageTooLarge``.

    Without a thread id the thread is derived from tenant, user and message id, so that a retry finds it.
    """
    if not isinstance(message_id, str) or not is_printable(message_id, MAX_MESSAGE_ID):
        raise InvalidRequest(f"messageId must be 1 to {MAX_MESSAGE_ID} printable characters.")
    if agent_id is not None and (not isinstance(agent_id, str) or not is_printable(agent_id, 64)):
        raise InvalidRequest("agentId must be the id of an agent.")
    run_id = optional_run_id(run_id)
    thread = derived_thread_ref(scope, message_id) if thread_id is None else named_thread(scope, thread_id)
    return MessageRequest(
        thread=thread,
        message_id=message_id,
        run_id=run_id or derived_run_id(thread.id, message_id),
        content=parse_content(content),
        agent_id=agent_id,
    )


def optional_run_id(run_id: object) -> str | None:
    """The run a caller names, if it names one. Raises ``InvalidRequest``."""
    if run_id is None or (isinstance(run_id, str) and is_printable(run_id, MAX_MESSAGE_ID)):
        return run_id
    raise InvalidRequest(f"runId must be 1 to {MAX_MESSAGE_ID} printable characters.")


def named_thread(scope: Scope, thread_id: object) -> ThreadRef:
    """The thread a caller names. Raises ``InvalidRequest``."""
    if not isinstance(thread_id, str):
        raise InvalidRequest("threadId must be a string.")
    return thread_ref(scope, thread_id)


def named_workflow(workflow_id: object) -> str:
    """The workflow a caller names. Raises ``InvalidRequest``."""
    if not isinstance(workflow_id, str) or not is_printable(workflow_id, MAX_MESSAGE_ID):
        raise InvalidRequest("workflowId must be the id of a workflow.")
    return workflow_id


def queued(
    scope: Scope, request: MessageRequest, *, connection_id: str, connection_expires_at: int, request_id: str
) -> QueuedMessage:
    """The request as it waits in the queue."""
    return QueuedMessage(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=tuple(sorted(scope.permissions)),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        thread_id=request.thread.id,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        content=content_as_json(request.content),
        agent_id=request.agent_id,
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
    """One answer as it waits in the queue, in the name of the thread's user, whose ``scope`` it is."""
    return QueuedAnswer(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=(),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        thread_id=thread_id,
        interrupt_id=answer.interrupt_id,
        status=answer.status,
        payload=answer.payload,
        answered_by=answer.answered_by or scope.user_id,
    )


def queued_action(
    scope: Scope, request: ActionRequest, *, connection_id: str | None, connection_expires_at: int, request_id: str
) -> QueuedAction:
    """An action as it waits in the queue."""
    return QueuedAction(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        permissions=tuple(sorted(scope.permissions)),
        connection_id=connection_id,
        connection_expires_at=connection_expires_at,
        request_id=request_id,
        thread_id=request.thread.id,
        action=request.action.value,
        may_create=request.thread.may_create,
        message_id=request.message_id,
        workflow_id=request.about,
    )


def from_queue(queued: QueuedMessage | QueuedAnswer | QueuedAction) -> TurnRequest:
    """The request that waited in the queue; it was checked before."""
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
    )


def integer(value: Any, name: str, *, low: int, high: int) -> int:
    """``value`` as a whole number between ``low`` and ``high``. Raises ``InvalidRequest``."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidRequest(f"{name} must be a whole number from {low} to {high}.")
    return value
