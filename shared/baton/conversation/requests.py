"""What callers ask for, checked and in Baton's own terms, whichever transport it came by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton.domain.content import content_as_json, content_digest, content_from_json, parse_content
from baton.domain.errors import InvalidRequest
from baton.domain.identity import (
    MAX_MESSAGE_ID,
    Scope,
    ThreadRef,
    derived_run_id,
    derived_thread_ref,
    is_printable,
    thread_ref,
)
from baton.domain.message import Content
from baton.domain.queued import QueuedMessage


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


def from_queue(message: QueuedMessage) -> MessageRequest:
    """The request a queued message holds; it was checked before it was queued."""
    return MessageRequest(
        thread=ThreadRef(message.thread_id, message.may_create),
        message_id=message.message_id,
        run_id=derived_run_id(message.thread_id, message.message_id),
        content=content_from_json(message.content),
        agent_id=message.agent_id,
    )


def integer(value: Any, name: str, *, low: int, high: int) -> int:
    """``value`` as a whole number between ``low`` and ``high``. Raises ``InvalidRequest``."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidRequest(f"{name} must be a whole number from {low} to {high}.")
    return value
