"""The route for events of other systems, which begin runs in conversations."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, describe
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.wire_model import RUN_ID, THREAD_ID, WireModel
from baton.threads.schedules.incoming_event import IncomingEvent

router = APIRouter(prefix="/v1/threads/{thread_id}/events", tags=["threads"])


class SentEventRequest(Asked):
    """An event to begin a run."""

    event_id: str = describe("The sender's id of the event, which identifies repeated events.", "order-4711-shipped")
    type: str = describe("A type of events that the conversation's main agent accepts.", "order.shipped")
    data: Any = describe(
        "The event's data, at most 16 KB of JSON. The agent gets it as information, never as an instruction.",
        {"order": "4711", "carrier": "DHL"},
        default=None,
    )
    user_id: str | None = describe("The user of the conversation. Default: the caller.", "alice", default=None)
    agent_id: str | None = describe(
        "The main agent of a new conversation. Default: the default agent.", "assistant", default=None, max_length=64
    )


class QueuedEvent(WireModel):
    """The run that an event begins."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str = Field(examples=[RUN_ID])


@router.post(
    "",
    summary="Send an event",
    status_code=202,
    responses=responses(
        "forbidden unknown_agent agent_mismatch event_not_taken limit_reached thread_led_by_parent message_id_conflict "
        "message_too_large store_unavailable"
    ),
)
async def send_event(thread_id: ThreadId, caller: Caller, app: UseCases, body: SentEventRequest) -> QueuedEvent:
    """Begin a run of the conversation's agent by an event of your system. Needs `event:send`.

    The conversation may be new. It belongs to the user `userId`, and an id of your system is mapped for this user. A
    run for another user than the caller has no permissions. The run waits while the conversation waits for people. A
    repeated `eventId` gets the same answer, without a second run. Runs for other users are audited.
    """
    caller.require(Permission.EVENT_SEND, "event.send")
    owner = caller if body.user_id in (None, caller.user_id) else Scope(caller.tenant_id, body.user_id)
    event = IncomingEvent.parse(body.event_id, body.type, body.data)
    request = await app.self_started.event_starts.begin(caller, owner, thread_id, event, agent_id=body.agent_id)
    return QueuedEvent(thread_id=request.thread.id, run_id=request.run_id)
