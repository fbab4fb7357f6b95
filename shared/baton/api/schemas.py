"""The shapes of the HTTP API, for its OpenAPI document; names on the wire are camelCase."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"
RUN_ID = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
CALL_ID = "call_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"
TASK_ID = "7b0f2f0e-58f3-5f0a-9c37-2f6d1a9b8c3d"
TIMESTAMP = "2026-03-14T09:26:53.589Z"


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Listing(_Shape, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page; null on the last.", examples=[None]
    )


class Usage(_Shape):
    """Tokens spent."""

    input_tokens: int = Field(examples=[412])
    output_tokens: int = Field(examples=[58])
    total_tokens: int = Field(examples=[470])


class ActiveAgent(_Shape):
    """Who answers the next message."""

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str | None = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    is_main: bool = Field(examples=[True])


class State(_Shape):
    """What every screen of a thread shows."""

    active_agent: ActiveAgent
    workflow: dict[str, Any] | None = Field(description="The guided workflow in progress.", examples=[None])
    resumable: list[dict[str, Any]] = Field(description="Unfinished workflows.", examples=[[]])
    status: Literal["active", "closed"]


class Run(_Shape):
    """The run a thread is in the middle of."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(examples=["m-1"])
    status: Literal["running", "interrupted"]
    attempt: int = Field(examples=[1])


class Thread(_Shape):
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
    last_seq: int = Field(description="Sequence number of the thread's last event.", examples=[17])
    created_at: str = Field(examples=[TIMESTAMP])
    last_activity_at: str = Field(examples=[TIMESTAMP])


class MessageMetadata(_Shape):
    """What is known about a message."""

    ordinal: int = Field(examples=[1])
    run_id: str = Field(examples=[RUN_ID])
    status: Literal["complete", "cancelled"]
    agent_id: str | None = Field(examples=["assistant"])
    agent_name: str | None = Field(examples=["Assistant"])
    is_handoff_summary: bool
    is_tool_result: bool
    tool_name: str | None = Field(examples=[None])
    timestamp: str = Field(examples=[TIMESTAMP])
    source: str | None = Field(examples=[None])
    tokens: int = Field(examples=[23])
    sources: list[dict[str, Any]] = Field(examples=[[]])


class Message(_Shape):
    """An AG-UI message with Baton's metadata."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["m-1"])
    role: Literal["user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = Field(examples=["Hello!"])
    metadata: MessageMetadata


class Outcome(_Shape):
    """How a run ended."""

    model_config = ConfigDict(extra="allow")

    type: Literal["success", "cancelled", "interrupt"] = Field(
        description="`interrupt` comes with `interrupts`: what a person has to answer, as AG-UI has it."
    )


class MessageRequest(_Shape):
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


class MessageAnswer(_Shape):
    """The messages of a finished turn."""

    session_id: str = Field(examples=[THREAD_ID])
    run_id: str = Field(examples=[RUN_ID])
    messages: list[Message]
    state: State
    usage: Usage
    outcome: Outcome


class Agent(_Shape):
    """An agent's definition."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    main: bool = Field(description="Whether a conversation may begin with it.", examples=[True])


class UploadRequest(_Shape):
    """A file that is to be uploaded."""

    name: str = Field(examples=["invoice.pdf"])
    content_type: str = Field(examples=["application/pdf"])
    size: int = Field(description="Bytes.", examples=[48213])


class UploadTarget(_Shape):
    """Where and how to put the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = Field(description="Send exactly these.", examples=[{"Content-Type": "application/pdf"}])
    expires_at: str = Field(examples=[TIMESTAMP])


class UploadAnswer(_Shape):
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


class CancelRequest(_Shape):
    """Which run to stop."""

    run_id: str | None = Field(default=None, description="Absent: the run in progress.", examples=[RUN_ID])


class CancelAnswer(_Shape):
    """Which run will stop."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(examples=[RUN_ID])


class CloseAnswer(_Shape):
    """What closing comes to."""

    thread_id: str = Field(examples=[THREAD_ID])
    status: Literal["closed"]
    episode_id: str | None = Field(examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])


class ToolCall(_Shape):
    """One call of one tool, with what came of it."""

    id: str = Field(examples=[CALL_ID])
    run_id: str = Field(examples=[RUN_ID])
    task_id: str | None = Field(
        description="The sub-task it was made in, or the one it made; null: by the run's own agent.", examples=[None]
    )
    agent_id: str = Field(description="Who called.", examples=["assistant"])
    tool_name: str = Field(examples=["get_weather"])
    input: dict[str, Any] | str = Field(
        description="The arguments; text where the model wrote no JSON object.", examples=[{"city": "Bern"}]
    )
    output: str | None = Field(description="Whole, whatever the model was shown of it.", examples=["Sunny, 21 °C"])
    succeeded: bool
    error_message: str | None = Field(examples=[None])
    called_at: str = Field(examples=[TIMESTAMP])
    duration_ms: int = Field(examples=[412])


class Task(_Shape):
    """What one agent asked another to do, and what came of it."""

    task_id: str = Field(examples=[TASK_ID])
    parent_task_id: str = Field(description="The run.", examples=[RUN_ID])
    run_id: str = Field(examples=[RUN_ID])
    tool_call_id: str = Field(examples=[CALL_ID])
    agent_id: str = Field(description="Who was asked.", examples=["librarian"])
    status: Literal["working", "completed", "failed", "timed_out", "cancelled"]
    message: str = Field(description="The question.", examples=["Which edition is the oldest?"])
    result: str | None = Field(examples=["The one of 1561."])
    error: str | None = Field(examples=[None])
    started_at: str = Field(examples=[TIMESTAMP])
    ended_at: str | None = Field(examples=[TIMESTAMP])
    duration_ms: int | None = Field(examples=[3120])
    usage: Usage


class TaskMessage(_Shape):
    """A message of a sub-task: the asking agent's, the asked agent's or a tool's."""

    role: Literal["user", "assistant", "tool"]
    content: str = Field(examples=["Which edition is the oldest?"])
    timestamp: str = Field(examples=[TIMESTAMP])
    tool_name: str | None = Field(examples=[None])


class TaskWithMessages(Task):
    """A sub-task with what was said in it."""

    messages: list[TaskMessage]


class AuditRecord(_Shape):
    """That somebody did, or tried to do, something."""

    id: str = Field(examples=["001773480413589#7c1e..."])
    timestamp: str = Field(examples=[TIMESTAMP])
    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    thread_id: str | None = Field(examples=[THREAD_ID])
    action: str = Field(examples=["thread.close"])
    outcome: str = Field(examples=["closed"])
    detail: dict[str, Any] = Field(examples=[{"reason": "UserClosed"}])


class Health(_Shape):
    """That the service answers."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])
