"""Sub-tasks: consultations of one agent by another."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.domain.times import iso
from baton.domain.usage import Usage


class TaskStatus(StrEnum):
    """The status of a sub-task."""

    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A message of a sub-task: the asking agent's, the asked agent's, or a tool's."""

    role: str
    """``user`` (the asking agent), ``assistant`` or ``tool``."""
    content: str
    timestamp: datetime
    tool_name: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "content": self.content,
            "timestamp": iso(self.timestamp),
            "toolName": self.tool_name,
        }


@dataclass(frozen=True, slots=True)
class Task:
    """A sub-task of a run."""

    id: str
    run_id: str
    """The run, which is also the parent task."""
    tool_call_id: str
    agent_id: str
    """The consulted agent."""
    message: str
    started_at: datetime
    status: TaskStatus = TaskStatus.WORKING
    result: str | None = None
    error: str | None = None
    ended_at: datetime | None = None
    usage: Usage = field(default_factory=Usage)
    messages: tuple[TaskMessage, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the wire shape, without ``messages``."""
        ended = self.ended_at
        return {
            "taskId": self.id,
            "parentTaskId": self.run_id,
            "runId": self.run_id,
            "toolCallId": self.tool_call_id,
            "agentId": self.agent_id,
            "status": self.status.value,
            "message": self.message,
            "result": self.result,
            "error": self.error,
            "startedAt": iso(self.started_at),
            "endedAt": iso(ended) if ended else None,
            "durationMs": (ended - self.started_at) // timedelta(milliseconds=1) if ended else None,
            "usage": self.usage.as_json(),
        }
