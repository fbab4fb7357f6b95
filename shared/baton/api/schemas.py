"""The shapes of the HTTP API: what is served and described is read from what is stored, names become camelCase.

Shapes that events have too are declared in ``domain``: ``thread_state`` and the metadata in ``message``.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.errors import InvalidRequest
from baton.domain.feedback import Feedback as FeedbackRecord
from baton.domain.feedback import Rating
from baton.domain.interrupt import shown_interrupts
from baton.domain.message import MessageMetadata, StoredMessage
from baton.domain.thread import RunStatus, ThreadStatus
from baton.domain.thread import Thread as ThreadRecord
from baton.domain.thread_state import Describe, State, thread_state
from baton.domain.usage import Prices
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, WORKFLOW_ID, Timestamp, WireModel

T = TypeVar("T")
MAX_QUERY = 20_000
"""Characters of a query. A search takes the first of them."""


class Asked(BaseModel):
    """Base of what callers send: nothing is converted, so that ``true`` is not a number."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True)


def check_query(query: str) -> None:
    """Raise ``InvalidRequest`` for a query without words, or with more characters than a search takes."""
    if not query.strip():
        raise InvalidRequest("query must hold words: it is empty or blank.")
    if len(query) > MAX_QUERY:
        raise InvalidRequest(f"query must have at most {MAX_QUERY} characters.")


class Listing(WireModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page; null on the last.", examples=[None]
    )


class Usage(WireModel):
    """Tokens spent."""

    input_tokens: int = Field(examples=[412])
    output_tokens: int = Field(examples=[58])
    total_tokens: int = Field(examples=[470])
    cached_input_tokens: int = Field(
        default=0,
        exclude_if=lambda tokens: tokens == 0,
        description="Input tokens that the provider read from its prompt cache; left out where there are none.",
        examples=[384],
    )


COST = Field(
    description="The cost, in the currency of the deployment's prices; null without prices, and where a model has "
    "none or is not known.",
    examples=[0.0021],
)


class Run(WireModel):
    """The run a thread is in the middle of."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(examples=["m-1"])
    status: RunStatus
    attempt: int = Field(examples=[1])


class Thread(WireModel):
    """A conversation."""

    id: str = Field(examples=[THREAD_ID])
    title: str | None = Field(
        description="Made after the first answer, unless the user gave one; null before.",
        examples=["Weekend in Lisbon"],
    )
    user_id: str = Field(examples=["alice"])
    agent_id: str = Field(examples=["assistant"])
    parent_thread_id: str | None = Field(examples=[None])
    status: ThreadStatus
    state: State
    episode: int = Field(validation_alias="latest_episode", description="Number of the session, from 1.", examples=[1])
    usage: Usage
    cost: float | None = COST
    run: Run | None
    interrupts: list[dict[str, Any]] = Field(
        description="Open interrupts as AG-UI has them: approvals, and results of the client's tools.",
        examples=[[]],
    )
    last_error: str | None = Field(
        description="The code of the last error that a turn has ended with; null if none has.", examples=[None]
    )
    last_seq: int = Field(
        description="Sequence number of the thread's last event, those of a run in progress included.", examples=[17]
    )
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    last_activity_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(
        cls, describe: Describe, prices: Prices, thread: ThreadRecord, last_seq: int | None = None
    ) -> Thread:
        """Return the served form of ``thread``; ``last_seq`` is that of a run in progress."""
        return cls.of(
            thread,
            state=thread_state(describe, thread),
            cost=prices.cost(thread.spent, thread.usage),
            interrupts=shown_interrupts(thread.open_interrupts),
            last_seq=thread.last_seq if last_seq is None else last_seq,
        )


class Feedback(WireModel):
    """The user's feedback on an answer."""

    rating: Rating = Field(examples=["up"])
    comment: str | None = Field(examples=["Just what I needed."])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])


class Message(WireModel):
    """An AG-UI message with Baton's metadata."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["m-1"])
    role: Literal["user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = Field(
        default=None, description="Left out where an agent said nothing and only called tools.", examples=["Hello!"]
    )
    metadata: MessageMetadata
    feedback: Feedback | None = Field(
        default=None,
        exclude_if=lambda feedback: feedback is None,
        description="The user's feedback on an answer; left out where there is none.",
    )

    @classmethod
    def from_record(cls, message: StoredMessage, feedback: FeedbackRecord | None = None) -> Message:
        """Return the served form of ``message`` with the ``feedback`` on it."""
        said = message.as_ag_ui(with_metadata=False).model_dump(by_alias=True, mode="json")
        if feedback is not None:
            said["feedback"] = Feedback.of(feedback)
        return cls(**said, metadata=MessageMetadata.of(message))


class MessageListing(Listing[Message]):
    """A page of a conversation's messages."""

    last_seq: int = Field(
        description="Sequence number of the last event that the messages include. Resume after the first page's: what"
        " follows is in no message yet, such as the question and answer of a run in progress.",
        examples=[12],
    )


class Outcome(WireModel):
    """The end of a run."""

    model_config = ConfigDict(extra="allow")

    type: Literal["success", "cancelled", "interrupt"] = Field(
        description="`interrupt` comes with `interrupts`: what a person has to answer, as AG-UI has it."
    )


class MessageRequest(Asked):
    """A message that asks for an answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"sessionId": "booking-4711", "messageId": "m-1", "message": "What can you do?"},
                {
                    "sessionId": THREAD_ID,
                    "messageId": "m-2",
                    "message": [
                        {"type": "text", "text": "What is in this picture?"},
                        {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
                    ],
                },
            ]
        }
    )

    session_id: str | None = Field(
        default=None,
        description="A UUID, or any stable id of the host application's; omitted, a new conversation begins.",
    )
    message: str | Annotated[list[dict[str, Any]], Field(fail_fast=True)] | None = Field(
        default=None, description="Text, or AG-UI content parts; left out where `branch` regenerates."
    )
    message_id: str | None = Field(
        default=None, description="The idempotency key: the same id again gets the same answer."
    )
    agent_id: str | None = Field(default=None, description="The main agent; matters on the first message only.")
    branch: dict[str, Any] | None = Field(
        default=None,
        description="`{from, regenerate?}`: answer the user's message `from` again, or replace it by this one.",
    )
    time_zone: str | None = Field(
        default=None,
        description="IANA's name of the user's time zone, whose days count; without it, the last one that is known.",
        examples=["Europe/Vienna"],
    )


class MessageAnswer(WireModel):
    """The messages of a finished turn."""

    session_id: str = Field(examples=[THREAD_ID])
    run_id: str = Field(examples=[RUN_ID])
    messages: list[Message]
    result: Any = Field(
        default=None,
        exclude_if=lambda result: result is None,
        description="The value of a structured answer: an object that fits its agent's `answerSchema`. Left out where "
        "the answer is text.",
        examples=[None],
    )
    state: State
    usage: Usage
    outcome: Outcome


class Agent(WireModel):
    """An agent's definition."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    main: bool = Field(description="Whether a conversation may begin with it.", examples=[True])
    version: int | None = Field(
        default=None, description="The version of the tenant's own agent; null for one that ships.", examples=[None]
    )


class UploadRequest(Asked):
    """A file that is to be uploaded."""

    name: str = Field(examples=["invoice.pdf"])
    content_type: str = Field(
        description="Its media type, perhaps with a charset; empty if it is unknown.", examples=["application/pdf"]
    )
    size: int = Field(description="Bytes.", examples=[48213])


class UploadTarget(WireModel):
    """The request that uploads the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = Field(description="Send exactly these.", examples=[{"Content-Type": "application/pdf"}])
    expires_at: Timestamp = Field(examples=[TIMESTAMP])


class UploadAnswer(WireModel):
    """The upload of a file, and the part that refers to it in a message."""

    file_id: str = Field(examples=["file_0123456789abcdef0123456789abcdef"])
    upload: UploadTarget
    part: dict[str, Any] = Field(
        examples=[
            {
                "type": "document",
                "source": {
                    "type": "file",
                    "value": "file_0123456789abcdef0123456789abcdef",
                    "provider": "baton",
                    "mimeType": "application/pdf",
                },
                "metadata": {"name": "invoice.pdf", "size": 48213},
            }
        ]
    )


class RenameRequest(Asked):
    """A thread's new title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(description="One line of 1 to 120 characters.", examples=["Weekend in Lisbon"])


class FeedbackRequest(Asked):
    """The user's feedback on an answer. It replaces earlier feedback."""

    model_config = ConfigDict(extra="forbid")

    rating: Literal["up", "down", "none"] = Field(description="`none` withdraws it.", examples=["up"])
    comment: str | None = Field(default=None, description="At most 2,000 characters.", examples=["Just what I needed."])


class RatedMessage(WireModel):
    """The feedback on an answer."""

    thread_id: str = Field(examples=[THREAD_ID])
    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])
    run_id: str = Field(examples=[RUN_ID])
    feedback: Feedback | None = Field(description="null once it is withdrawn.")


class CancelRequest(Asked):
    """A run to stop."""

    run_id: str | None = Field(default=None, description="Absent: the run in progress.", examples=[RUN_ID])


class CancelAnswer(WireModel):
    """The run that will stop."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(examples=[RUN_ID])


class ContinueRequest(Asked):
    """A workflow to continue."""

    workflow_id: str = Field(description="The id of a workflow that `GET /v1/workflows` lists.", examples=[WORKFLOW_ID])


class ForkRequest(Asked):
    """A fork to make of a conversation."""

    agent_id: str = Field(
        min_length=1, max_length=64, description="The main agent of the new conversation.", examples=["research"]
    )
    include_history_messages: int = Field(
        default=5, ge=0, le=200, description="The number of last messages that it begins with."
    )


class SandboxRequest(Asked):
    """The turn up to which a conversation is copied."""

    message_id: str = Field(
        min_length=1, max_length=128, description="The user's message that began the turn.", examples=["m-1"]
    )
    include_turn: bool = Field(
        default=True, description="Whether the copy ends with this turn, or before its message, to ask it again."
    )


class Branch(WireModel):
    """One of several messages of the user's that continue from the same message, and what followed it."""

    branch_id: str = Field(examples=["b4"])
    message_id: str = Field(description="The user's message, which a regenerated branch repeats.", examples=["m-2"])
    after: str | None = Field(
        description="The last message before it. Branches with the same one are alternatives.", examples=["m-1"]
    )
    regenerate: bool = Field(description="Whether it answers the message of another branch again.", examples=[True])
    selected: bool = Field(description="Whether the conversation goes on with it.", examples=[True])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    text: str = Field(description="The beginning of the message.", examples=["What can you do?"])


class SelectedBranch(WireModel):
    """The branch that the conversation continues with."""

    thread_id: str = Field(examples=[THREAD_ID])
    branch_id: str = Field(examples=["b4"])
    last_seq: int = Field(description="Sequence number of the thread's last event.", examples=[24])


class MergeRequest(Asked):
    """An empty object: there is nothing to choose."""


class CloseAnswer(WireModel):
    """The result of closing a conversation."""

    thread_id: str = Field(examples=[THREAD_ID])
    status: Literal[ThreadStatus.CLOSED]
    episode_id: str | None = Field(examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])


class Health(WireModel):
    """The health of the service."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])
