"""The shapes of the HTTP API, for its OpenAPI document; names on the wire are camelCase."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"
RUN_ID = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
WORKFLOW_ID = "c1f0a6de-9d0b-5a5e-8a53-0e1b6d9c7f42"
TIMESTAMP = "2026-03-14T09:26:53.589Z"


class Shape(BaseModel):
    """Base of every shape."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Asked(Shape):
    """Base of what callers send: nothing is converted, so that ``true`` is no number."""

    model_config = ConfigDict(strict=True)


class Listing(Shape, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page; null on the last.", examples=[None]
    )


class Usage(Shape):
    """Tokens spent."""

    input_tokens: int = Field(examples=[412])
    output_tokens: int = Field(examples=[58])
    total_tokens: int = Field(examples=[470])


class ActiveAgent(Shape):
    """Who answers the next message."""

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str | None = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    is_main: bool = Field(examples=[True])


class WorkflowInProgress(Shape):
    """The guided workflow that a conversation is in."""

    id: str = Field(examples=[WORKFLOW_ID])
    name: str = Field(description="What the user knows it by.", examples=["your Slack Alert skill"])
    state: str = Field(examples=["DEFINING_TRIGGERS"])
    label: str = Field(description="The state, as the user sees it.", examples=["Defining Triggers"])
    step: int | None = Field(
        description="From 1; null in a state that the workflow's definition lacks now.", examples=[2]
    )
    steps: int | None = Field(examples=[5])
    can_exit: bool = Field(description="Whether to offer to leave it in this state.", examples=[True])


class Workflow(Shape):
    """A guided workflow that can be continued."""

    id: str = Field(examples=[WORKFLOW_ID])
    agent_id: str = Field(description="The specialist that leads through it.", examples=["skill-creation-agent"])
    name: str = Field(description="What the user knows it by.", examples=["your Slack Alert skill"])
    state: str = Field(examples=["DEFINING_TRIGGERS"])
    label: str = Field(description="The state, as the user sees it.", examples=["Defining Triggers"])
    step: int | None = Field(description="From 1; null where its definition is gone or lacks the state.", examples=[2])
    steps: int | None = Field(examples=[5])
    thread_id: str = Field(description="The conversation it is in, or was left in.", examples=[THREAD_ID])
    updated_at: str = Field(examples=[TIMESTAMP])
    expires_at: str = Field(description="Until when it can be continued.", examples=["2026-04-13T09:26:53.589Z"])


class State(Shape):
    """What every screen of a thread shows."""

    active_agent: ActiveAgent
    workflow: WorkflowInProgress | None
    resumable: list[Workflow] = Field(
        description="Unfinished workflows that can be continued here, the one changed last first."
    )
    status: Literal["active", "closed"]


class Run(Shape):
    """The run a thread is in the middle of."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(examples=["m-1"])
    status: Literal["running", "interrupted"]
    attempt: int = Field(examples=[1])


class Thread(Shape):
    """A conversation."""

    id: str = Field(examples=[THREAD_ID])
    user_id: str = Field(examples=["alice"])
    agent_id: str = Field(examples=["assistant"])
    parent_thread_id: str | None = Field(examples=[None])
    status: Literal["active", "closed"]
    state: State
    episode: int = Field(description="Number of the session, from 1.", examples=[1])
    usage: Usage
    run: Run | None
    last_seq: int = Field(
        description="Sequence number of the thread's last event, those of a run in progress included.", examples=[17]
    )
    created_at: str = Field(examples=[TIMESTAMP])
    last_activity_at: str = Field(examples=[TIMESTAMP])


class MessageMetadata(Shape):
    """What is known about a message."""

    ordinal: int = Field(examples=[1])
    run_id: str = Field(examples=[RUN_ID])
    status: Literal["complete", "cancelled"]
    finish_reason: Literal["length"] | None = Field(
        description="`length` where an answer was cut because it was too long.", examples=[None]
    )
    agent_id: str | None = Field(examples=["assistant"])
    agent_name: str | None = Field(examples=["Assistant"])
    is_handoff_summary: bool
    is_tool_result: bool
    tool_name: str | None = Field(examples=[None])
    timestamp: str = Field(examples=[TIMESTAMP])
    source: str | None = Field(examples=[None])
    tokens: int = Field(examples=[23])
    sources: list[dict[str, Any]] = Field(examples=[[]])
    outcome: Literal["succeeded", "failed", "refused"] | None = Field(
        default=None, description="How the call ended that a tool's message answers; only those have it."
    )


class Message(Shape):
    """An AG-UI message with Baton's metadata."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["m-1"])
    role: Literal["user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = Field(
        default=None, description="Left out where an agent said nothing and only called tools.", examples=["Hello!"]
    )
    metadata: MessageMetadata


class MessageListing(Listing[Message]):
    """A page of a conversation's messages."""

    last_seq: int = Field(
        description="Sequence number of the last event that the messages include. Resume after the first page's: what"
        " follows is in no message yet, such as the question and answer of a run in progress.",
        examples=[12],
    )


class Outcome(Shape):
    """How a run ended."""

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
    message: str | list[dict[str, Any]] = Field(description="Text, or AG-UI content parts.")
    message_id: str | None = Field(
        default=None, description="The idempotency key: the same id again gets the same answer."
    )
    agent_id: str | None = Field(default=None, description="The main agent; matters on the first message only.")


class MessageAnswer(Shape):
    """The messages of a finished turn."""

    session_id: str = Field(examples=[THREAD_ID])
    run_id: str = Field(examples=[RUN_ID])
    messages: list[Message]
    state: State
    usage: Usage
    outcome: Outcome


class Agent(Shape):
    """An agent's definition."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    main: bool = Field(description="Whether a conversation may begin with it.", examples=[True])


class UploadRequest(Asked):
    """A file that is to be uploaded."""

    name: str = Field(examples=["invoice.pdf"])
    content_type: str = Field(examples=["application/pdf"])
    size: int = Field(description="Bytes.", examples=[48213])


class UploadTarget(Shape):
    """Where and how to put the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = Field(description="Send exactly these.", examples=[{"Content-Type": "application/pdf"}])
    expires_at: str = Field(examples=[TIMESTAMP])


class UploadAnswer(Shape):
    """How to upload a file, and the part that refers to it in a message."""

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


class CancelRequest(Asked):
    """Which run to stop."""

    run_id: str | None = Field(default=None, description="Absent: the run in progress.", examples=[RUN_ID])


class CancelAnswer(Shape):
    """Which run will stop."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(examples=[RUN_ID])


class ContinueRequest(Asked):
    """Which workflow to take up."""

    workflow_id: str = Field(description="Of those that `GET /v1/workflows` lists.", examples=[WORKFLOW_ID])


class ForkRequest(Asked):
    """How to branch a conversation."""

    agent_id: str = Field(
        min_length=1, max_length=64, description="The main agent of the new conversation.", examples=["research"]
    )
    include_history_messages: int = Field(
        default=5, ge=0, le=200, description="How many of the last messages it begins with."
    )


class MergeRequest(Asked):
    """What to merge: there is nothing to choose."""


class CloseAnswer(Shape):
    """What closing comes to."""

    thread_id: str = Field(examples=[THREAD_ID])
    status: Literal["closed"]
    episode_id: str | None = Field(examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])


class Health(Shape):
    """That the service answers."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])
