"""The shapes of a conversation's records: tool calls, sub-tasks, handoffs and audit records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from baton.api.http.schemas import ServedUsage, describe
from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome
from baton.domain.runs.task import TaskStatus
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Milliseconds, Timestamp, WireModel

CALL_ID = "call_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"
TASK_ID = "7b0f2f0e-58f3-5f0a-9c37-2f6d1a9b8c3d"
HANDOFF_ID = "3f5d8a52-6f0e-5c1b-9b7c-4d2e1a0f9c88"


class ServedToolCallRecord(WireModel):
    """One call of one tool, with its result."""

    id: str = Field(examples=[CALL_ID])
    run_id: str = Field(examples=[RUN_ID])
    task_id: str | None = describe(
        "The sub-task in which the call was made, or which it has begun; null for other calls.", None
    )
    agent_id: str = describe("The agent that made the call.", "assistant")
    tool_name: str = Field(examples=["get_weather"])
    label: str | None = describe("The tool's name for people; null without one.", "Weather")
    input: dict[str, Any] | str = describe("The arguments; a text if the model wrote no JSON object.", {"city": "Bern"})
    output: str | None = describe("The whole result, even if the model got only a part of it.", "Sunny, 21 °C")
    succeeded: bool
    error_message: str | None = Field(examples=[None])
    refused_to: str | None = describe(
        "The state to which the tool sends back the workflow that it refuses to complete; null if it names none.", None
    )
    called_at: Timestamp = Field(examples=[TIMESTAMP])
    duration_ms: Milliseconds = Field(validation_alias="duration", examples=[412])


class ServedTask(WireModel):
    """A question of one agent to another, with its result."""

    task_id: str = Field(validation_alias="id", examples=[TASK_ID])
    parent_task_id: str = describe("The run's id.", RUN_ID)
    run_id: str = Field(examples=[RUN_ID])
    tool_call_id: str = Field(examples=[CALL_ID])
    agent_id: str = describe("The agent that was asked.", "librarian")
    status: TaskStatus
    message: str = describe("The question.", "Which edition is the oldest?")
    result: str | None = Field(examples=["The one of 1561."])
    error: str | None = Field(examples=[None])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    ended_at: Timestamp | None = Field(examples=[TIMESTAMP])
    duration_ms: Milliseconds | None = Field(validation_alias="duration", examples=[3120])
    usage: ServedUsage


class ServedTaskMessage(WireModel):
    """A message of the asking agent, the asked agent or a tool in a sub-task."""

    role: Literal["user", "assistant", "tool"]
    content: str = Field(examples=["Which edition is the oldest?"])
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    tool_name: str | None = Field(examples=[None])


class TaskWithMessages(ServedTask):
    """A sub-task with its messages."""

    messages: list[ServedTaskMessage]
    sources: list[dict[str, Any]] = describe(
        "The passages and files of the result, with the numbers by which it cites them.", [], default_factory=list
    )
    consulted: list[dict[str, Any]] = describe(
        "Documents that the agent got, if the result cites none of them.", [], default_factory=list
    )


class Handoff(WireModel):
    """A handoff, or a refused handoff, of the conversation from one agent to another."""

    id: str = Field(examples=[HANDOFF_ID])
    source_agent_id: str = Field(examples=["assistant"])
    target_agent_id: str = Field(examples=["skill-creation-agent"])
    context_mode: ContextMode = describe("The part of the conversation that the target got.")
    context_summary: str = Field(examples=["User wants to create a skill that sends Slack alerts."])
    conversation_history_count: int = describe("The number of messages that the target got besides the summary.", 0)
    handoff_reason: str = Field(examples=["trigger: create skill"])
    preserve_state: bool = describe("Whether its workflow is kept when the user leaves.")
    return_expected: bool
    outcome: HandoffOutcome | None = describe("The outcome of the handoff; null until it has ended.", "returned")
    child_thread_id: str | None = describe("The target's separate conversation; null without one.", None)
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    ended_at: Timestamp | None = Field(examples=[TIMESTAMP])


class ServedAuditRecord(WireModel):
    """An audited action."""

    id: str = Field(examples=["001773480413589#7c1e..."])
    timestamp: Timestamp = Field(validation_alias="at", examples=[TIMESTAMP])
    tenant_id: str = Field(examples=["acme"])
    user_id: str = Field(examples=["alice"])
    thread_id: str | None = Field(examples=[THREAD_ID])
    action: str = Field(examples=["thread.close"])
    outcome: str = Field(examples=["closed"])
    detail: dict[str, Any] = Field(examples=[{"reason": "UserClosed"}])
