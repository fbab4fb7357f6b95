"""Shapes of messages, answers and feedback."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from baton.api.http.schemas import EXTERNAL_ID, NOT_BLANK, Asked, Listing, ServedUsage, describe
from baton.domain.tenants.identity import MAX_MESSAGE_ID
from baton.domain.threads.feedback import Feedback, Rating
from baton.domain.threads.message import EVENT, MessageMetadata, StoredMessage
from baton.domain.threads.thread_state import State
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Timestamp, WireModel


class ServedFeedback(WireModel):
    """The user's feedback on an answer."""

    rating: Rating = Field(examples=["up"])
    comment: str | None = Field(examples=["Just what I needed."])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])


class Message(WireModel, extra="allow"):
    """An AG-UI message with Baton's metadata."""

    id: str = Field(examples=["m-1"])
    role: Literal["user", "assistant", "tool", "event"] = describe(
        "`event`: the cause of a run that no message of the user has begun, such as a reminder, see `metadata.source`."
    )
    content: str | list[dict[str, Any]] | None = describe(
        "The text or content parts; left out if an agent has only called tools.", "Hello!", default=None
    )
    metadata: MessageMetadata
    feedback: ServedFeedback | None = describe(
        "The user's feedback on an answer; left out if there is none.", absent=None
    )

    @classmethod
    def from_record(cls, message: StoredMessage, feedback: Feedback | None = None) -> Message:
        """Return the served form of ``message`` with its ``feedback``, if it has any."""
        served = message.as_ag_ui(with_metadata=False).model_dump(by_alias=True, mode="json")
        if message.begun_by is not None:
            served = {"id": message.id, "role": EVENT, "content": message.text}
        if feedback is not None:
            served["feedback"] = ServedFeedback.of(feedback)
        return cls(**served, metadata=MessageMetadata.of(message))


class MessageListing(Listing[Message]):
    """A page of a conversation's messages."""

    last_seq: int = describe(
        "Sequence number of the last event that the messages include. Resume after the first page's number: later"
        " events are in no message yet, such as the question and answer of a run in progress.",
        12,
    )


class Outcome(WireModel, extra="allow"):
    """The end of a run."""

    type: Literal["success", "cancelled", "interrupt", "delivered"] = describe(
        "`interrupt` has `interrupts`, which are AG-UI's questions to a person. `delivered`: people of a desk will"
        " answer."
    )


PART: dict[str, Any] = {"required": ["type"], "properties": {"type": {"enum": ["text", "image", "document"]}}}
"""The fields that all kinds of AG-UI's content parts have."""


PICTURE = [
    {"type": "text", "text": "What is in this picture?"},
    {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
]
MESSAGES = [
    {"sessionId": "booking-4711", "messageId": "m-1", "message": "What can you do?"},
    {"sessionId": THREAD_ID, "messageId": "m-2", "message": PICTURE},
]


class SentMessageRequest(Asked, json_schema_extra={"examples": MESSAGES}):
    """A message to answer."""

    session_id: str | None = describe(
        "The conversation: a UUID, or any stable id of the host application. Default: a new conversation.",
        default=None,
        json_schema_extra=EXTERNAL_ID,
    )
    message: str | Annotated[list[dict[str, Any]], Field(fail_fast=True)] | None = describe(
        "Text, or AG-UI content parts; left out if `branch` regenerates.",
        default=None,
        json_schema_extra=NOT_BLANK | {"minItems": 1, "items": PART},
    )
    message_id: str | None = describe(
        "The idempotency key: a repeated request with the same id gets the same answer.",
        default=None,
        json_schema_extra={"minLength": 1, "maxLength": MAX_MESSAGE_ID},
    )
    agent_id: str | None = describe("The main agent of a new conversation.", default=None)
    branch: dict[str, Any] | None = describe(
        "`{from, regenerate?}`: answer the user's message `from` again, or replace it by this message.",
        default=None,
        json_schema_extra={
            "required": ["from"],
            "properties": {"from": {"type": "string", "minLength": 1}, "regenerate": {"type": "boolean"}},
            "additionalProperties": False,
        },
    )
    time_zone: str | None = describe(
        "The IANA name of the user's time zone, whose days are used. Default: the user's last known time zone.",
        "Europe/Vienna",
        default=None,
    )
    locale: str | None = describe(
        "The user's language, for sentences of desks, which is used if the token has no claim `locale`.",
        "de-AT",
        default=None,
    )
    while_busy: str | None = describe(
        "The treatment of the message during a run: `queue` (it waits), `steer` (it enters the run) or "
        "`interrupt` (the run stops). Default: the treatment in the agent's definition.",
        "steer",
        default=None,
    )
    over_spending: bool | None = describe(
        "True to continue although a spending limit is reached, if the limit asks users.", default=None
    )


class MessageAnswer(WireModel):
    """The messages of a finished turn."""

    session_id: str = Field(examples=[THREAD_ID])
    run_id: str = Field(examples=[RUN_ID])
    messages: list[Message]
    result: Any = describe(
        "The value of a structured answer: an object that fits its agent's `answerSchema`. Left out if "
        "the answer is text.",
        None,
        absent=None,
    )
    state: State
    usage: ServedUsage
    outcome: Outcome


class FeedbackRequest(Asked, extra="forbid"):
    """The user's feedback on an answer. It replaces earlier feedback."""

    rating: Literal["up", "down", "none"] = describe("`none` withdraws the feedback.", "up")
    comment: str | None = describe("At most 2,000 characters.", "Just what I needed.", default=None)


class RatedMessage(WireModel):
    """The feedback on an answer."""

    thread_id: str = Field(examples=[THREAD_ID])
    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])
    run_id: str = Field(examples=[RUN_ID])
    feedback: ServedFeedback | None = describe("The feedback; null after it was withdrawn.")
