"""Routes that list the messages that wait during a run, and withdraw a waiting message."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, MessageId, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import describe
from baton.api.threads.access import get_readable_thread
from baton.domain.tenants.identity import resolve_thread_ref
from baton.domain.threads.content import Content
from baton.domain.threads.queued import WaitingMessage
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel
from baton.threads.requests.thread_access import get_own_thread, refusals_audited

router = APIRouter(prefix="/v1/threads/{thread_id}/queue", tags=["threads"])


class QueuedMessage(WireModel):
    """A message that waits."""

    message_id: str = Field(examples=["m-2"])
    busy: Literal["queued", "steered", "interrupts"] = describe(
        "The message waits for its turn, enters the run in progress, or has stopped that run.", "queued"
    )
    content: Content | None = describe(
        "The message's content; null if it is longer than 32 KB.", "And one for Monday, please."
    )
    sent_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, waiting: WaitingMessage) -> QueuedMessage:
        """Return the served form of a waiting message."""
        content: Any = waiting.queued.request.content if waiting.queued is not None else None
        return cls(
            message_id=waiting.message_id, busy=waiting.mode.as_accepted, content=content, sent_at=waiting.sent_at
        )


class MessageQueue(WireModel):
    """The messages that wait in a conversation."""

    items: list[QueuedMessage]


@router.get("", summary="List waiting messages")
async def list_queue(thread_id: ThreadId, caller: Caller, app: UseCases) -> MessageQueue:
    """Return the waiting messages, which were sent during a run, in the order in which they were sent.

    There are at most ten.
    """
    thread = await get_readable_thread(app, caller, thread_id)
    items = [QueuedMessage.from_record(message) for message in await app.waiting.list_waiting(caller, thread.id)]
    return MessageQueue(items=await app.privacy.readers.redact_for(caller, thread.user_id, items))


@router.delete(
    "/{message_id}",
    summary="Withdraw a waiting message",
    status_code=204,
    responses=responses("not_found already_running store_unavailable"),
)
async def withdraw_message(thread_id: ThreadId, message_id: MessageId, caller: Caller, app: UseCases) -> None:
    """Withdraw a waiting message of the caller's own conversation, so that it is never answered. Repeated: 204."""
    canonical = resolve_thread_ref(caller, thread_id).id
    async with refusals_audited(app.ports.audit, caller, canonical, "message.withdraw"):
        await get_own_thread(app.ports.store, caller, canonical)
    await app.waiting.withdraw(caller, canonical, message_id)
