"""A thread: one conversation, shared by every agent that takes part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.conversation_state import ConversationState
from baton.domain.interrupt import PendingInterrupts
from baton.domain.times import iso
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow

Describe = Callable[[str], AgentDefinition | None]
"""Returns the definition of an agent by its id; None if it is not deployed."""


class ThreadStatus(StrEnum):
    """Whether a thread is open. A message to a closed thread reopens it."""

    ACTIVE = "active"
    CLOSED = "closed"


class RunStatus(StrEnum):
    """The status of a thread's run in progress."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """Its worker stopped renewing the lease. The next worker takes it over."""


@dataclass(frozen=True, slots=True)
class LeaseMark:
    """A lease as other workers see it. It changes when its holder renews it."""

    fence: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """The run in progress of a thread."""

    run_id: str
    message_id: str
    attempt: int
    """1 for the first worker, one more for each takeover."""
    status: RunStatus = RunStatus.RUNNING

    def as_json(self) -> dict[str, Any]:
        return {
            "runId": self.run_id,
            "messageId": self.message_id,
            "status": self.status.value,
            "attempt": self.attempt,
        }


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as last committed, and its run in progress, if any."""

    id: str
    user_id: str
    agent_id: str
    """The main agent."""
    conversation: ConversationState
    status: ThreadStatus
    episode: int
    """Number of the current session, or of the next one if the thread is closed."""
    usage: Usage
    run: Run | None
    next_ordinal: int
    """The pointer: messages at and beyond it are not (yet) part of the conversation."""
    last_seq: int
    """The last sequence number of the last committed run."""
    reserved_seq: int
    """The last sequence number that may have been sent. It exceeds ``last_seq`` only while a run is in progress."""
    stored_tokens: int
    """Tokens of all messages below the pointer."""
    created_at: datetime
    last_activity_at: datetime
    parent_thread_id: str | None = None
    episode_first_ordinal: int = 0
    """The first message of the current session, or of the next one."""
    pending: PendingInterrupts | None = None
    """The interrupts of the last run. A message cancels them."""
    lease: LeaseMark | None = field(default=None, compare=False)
    """The current or expired lease; None if the last one was released."""

    @property
    def active_agent_id(self) -> str:
        """The agent that answers the next message."""
        return self.conversation.agent_id

    @property
    def is_interrupted(self) -> bool:
        """Whether its run's worker has died and no other worker has taken the run over."""
        return self.run is not None and self.run.status is RunStatus.INTERRUPTED

    @property
    def is_handed_over(self) -> bool:
        """Whether a specialist is active."""
        return self.conversation.handoff is not None

    @property
    def is_new_session(self) -> bool:
        """Whether the current session has no messages yet."""
        return self.next_ordinal == self.episode_first_ordinal

    def as_json(self, describe: Describe, last_seq: int | None = None) -> dict[str, Any]:
        """Return the wire shape; ``last_seq`` is that of a run in progress."""
        return {
            "id": self.id,
            "userId": self.user_id,
            "agentId": self.agent_id,
            "parentThreadId": self.parent_thread_id,
            "status": self.status.value,
            "state": thread_state(describe, self),
            "episode": self.episode if self.status is ThreadStatus.ACTIVE else max(1, self.episode - 1),
            "usage": self.usage.as_json(),
            "run": self.run.as_json() if self.run else None,
            "lastSeq": self.last_seq if last_seq is None else last_seq,
            "createdAt": iso(self.created_at),
            "lastActivityAt": iso(self.last_activity_at),
        }


def thread_state(describe: Describe, thread: Thread) -> dict[str, Any]:
    """Return the state that clients show: the active agent, the workflow, resumable workflows, the status."""
    return {**conversation_state(describe, thread.conversation, thread.agent_id), "status": thread.status.value}


def conversation_state(describe: Describe, conversation: ConversationState, main_id: str) -> dict[str, Any]:
    """Return the part of the state that depends on the conversation state; ``main_id`` is the main agent."""
    agent = describe(conversation.agent_id)
    leads = agent.workflow if agent is not None else None
    return {
        "activeAgent": {
            "id": conversation.agent_id,
            "name": agent.name if agent else conversation.agent_id,
            "description": agent.description if agent else None,
            "avatarUrl": agent.avatar_url if agent else None,
            "isMain": conversation.agent_id == main_id,
        },
        "workflow": conversation.workflow.as_state(leads)
        if conversation.workflow is not None and leads is not None
        else None,
        "resumable": [_resumable(describe, workflow) for workflow in conversation.resumable],
    }


def _resumable(describe: Describe, workflow: Workflow) -> dict[str, Any]:
    agent = describe(workflow.agent_id)
    return workflow.as_json(agent.workflow if agent is not None else None)
