"""A2A tasks: one or more turns of a thread, as other agents see them.

A task is not stored. Its id names its thread and the message that began it. Its turns answer that message and the later
messages that were sent to the task. Only a ``TaskMark`` is stored, for facts that no turn records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote, unquote

from baton.domain.tenants.identity import MAX_MESSAGE_ID, is_printable, is_thread_id
from baton.domain.threads.run_end import OutcomeType, RunEnd

EXTENSION_URI = "https://baton.dev/a2a/extensions/conversation/v1"
"""Baton's extension of A2A: the conversation that a message or task belongs to."""
THREAD_ID_LENGTH = 36
"""Characters of a thread's id, a UUID."""
MAX_TASK_ID = 2_048
"""Characters of a task's id."""
CREDENTIAL_ERRORS = frozenset({"unauthorized", "token_expired"})
"""Error codes of runs that failed because other credentials are needed."""


@dataclass(frozen=True, slots=True)
class TaskId:
    """The id of a task: its thread, and the id of the message that began it."""

    thread_id: str
    root: str

    def __str__(self) -> str:
        return f"{self.thread_id}.{quote(self.root, safe='')}"

    @classmethod
    def parse(cls, text: str) -> TaskId | None:
        """Return the id that a text spells; None if the text is not the id of a task."""
        thread_id, dot, root = text[:THREAD_ID_LENGTH], text[THREAD_ID_LENGTH:][:1], text[THREAD_ID_LENGTH + 1 :]
        if dot != "." or len(text) > MAX_TASK_ID or not is_thread_id(thread_id):
            return None
        try:
            parsed = cls(thread_id, unquote(root, errors="strict"))
        except UnicodeDecodeError:
            return None
        return parsed if is_printable(parsed.root, MAX_MESSAGE_ID) and str(parsed) == text else None


class MarkStatus(StrEnum):
    """The fact that a mark records."""

    QUEUED = "queued"
    """A message waits in the queue."""
    REFUSED = "refused"
    """The message was refused when it was taken from the queue."""
    ANSWERED = "answered"
    """The message was an answer to interrupts."""
    CANCELED = "canceled"
    """The task was cancelled. No later mark replaces this one."""


@dataclass(frozen=True, slots=True)
class TaskMark:
    """A stored fact about a task that no turn records."""

    root: str
    user_id: str
    status: MarkStatus
    at: datetime
    message_id: str | None = None
    """The message that the status is about."""
    reason: str | None = None


class TaskState(StrEnum):
    """The state of a task, by the names of A2A 0.3."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    CANCELED = "canceled"
    FAILED = "failed"
    REJECTED = "rejected"
    AUTH_REQUIRED = "auth-required"

    @property
    def is_terminal(self) -> bool:
        """Whether the task accepts no more messages."""
        return self in (TaskState.COMPLETED, TaskState.CANCELED, TaskState.FAILED, TaskState.REJECTED)


def determine_state(
    ends: Iterable[RunEnd],
    *,
    mark: MarkStatus | None = None,
    is_running: bool = False,
    is_waiting: bool = False,
    is_superseded: bool = False,
    session_ended: bool = False,
    is_at_desk: bool = False,
) -> TaskState:
    """Return the state of a task whose runs ended as ``ends``, in order.

    ``is_running``: a run of the task is in progress. ``is_waiting``: a message of it is in the queue.
    ``is_superseded``: the conversation has gone on without the task, so the task asks for nothing any more.
    ``is_at_desk``: people of a desk answer it. ``session_ended``: the conversation was closed after the task had begun.
    A cancelled or failed task stays so. Otherwise the last run decides, because the task takes messages until a run
    completes it.
    """
    outcomes = list(ends)
    if mark is MarkStatus.CANCELED:
        return TaskState.CANCELED
    for end in outcomes:
        if end.outcome is OutcomeType.CANCELLED:
            return TaskState.CANCELED
        if end.outcome is OutcomeType.ERROR and end.error_code not in CREDENTIAL_ERRORS:
            return TaskState.FAILED
    if session_ended and outcomes:
        return TaskState.COMPLETED
    if is_running:
        return TaskState.WORKING
    if is_waiting:
        return TaskState.WORKING if outcomes else TaskState.SUBMITTED
    if not outcomes:
        return TaskState.REJECTED if mark is MarkStatus.REFUSED else TaskState.SUBMITTED
    if is_at_desk:
        return TaskState.WORKING
    last = outcomes[-1]
    if last.outcome is OutcomeType.ERROR:
        return TaskState.AUTH_REQUIRED
    if last.outcome is OutcomeType.INTERRUPT:
        return TaskState.CANCELED if is_superseded else TaskState.INPUT_REQUIRED
    return TaskState.INPUT_REQUIRED if last.awaits_input and not is_superseded else TaskState.COMPLETED
