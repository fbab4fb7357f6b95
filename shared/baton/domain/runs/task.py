"""Sub-tasks: consultations of one agent by another, and tasks of remote agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.domain.runs.usage import Usage

WAITS = (
    "(This agent keeps its task open. If it asks for something, ask the user. Then ask this agent again with the "
    "answer: it goes on where it stopped.)"
)
SIGN_IN = (
    "(This agent goes on when the user has signed in or has granted it access, as it says. Tell the user how, with the "
    "address if it names one. When they have done it, ask this agent again: it goes on where it stopped. Never ask for "
    "a password or a key.)"
)
FORM = (
    "(This agent keeps its task open and has sent data, which may be a form. Ask the user for what it wants, in words. "
    "Then ask this agent again, with the answers in `data` in the shape that it wants.)"
)
DATA = "[Data: {}]"
"""Structured data of a remote agent's answer, for the asking model."""


@dataclass(frozen=True, slots=True)
class RemoteTask:
    """The task of a remote agent that works on a message.

    It is stored as soon as it is known. A worker that takes over the run then follows it and does not send the message
    again.
    """

    id: str
    """Baton's id of the message, the same in every attempt at the run."""
    agent_id: str
    remote_task_id: str
    """The agent's own id of its task."""
    known: Mapping[str, int] = field(default_factory=dict)
    """Characters of each message and artifact that the task had before the message, by the adapter's key."""


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


@dataclass(frozen=True, slots=True)
class Task:
    """A sub-task of a run."""

    id: str
    run_id: str
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
    remote_task_id: str | None = None
    """The task of the remote agent that was asked, if it waits for more input."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """The passages and files of the result, which cites them by their numbers."""
    consulted: tuple[Mapping[str, Any], ...] = ()
    """Documents that the agent was given, if the result cites none of them."""

    @property
    def parent_task_id(self) -> str:
        """The id of the run, under the name that clients use."""
        return self.run_id

    @property
    def duration(self) -> timedelta | None:
        """The time from its start to its end; None while it is in progress."""
        return self.ended_at - self.started_at if self.ended_at is not None else None


def note_open_task(*, needs_sign_in: bool, has_data: bool) -> str:
    """Return the instructions for the asking model about a remote agent that keeps its task open."""
    if needs_sign_in:
        return SIGN_IN
    return FORM if has_data else WAITS
