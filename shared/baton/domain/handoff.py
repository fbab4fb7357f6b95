"""Handoffs: how an agent's file declares them, and the request that one leaves behind."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from baton.domain.definition import AgentId, Definition
from baton.domain.identity import PermissionName
from baton.domain.times import iso, to_millis

MAX_AUDITED = 200
"""Characters of a handoff's reason in the audit log."""


class ContextMode(StrEnum):
    """What a specialist is told of the conversation so far."""

    SUMMARY = "summary"
    """The handoff's summary and the user's message."""
    RECENT = "recent"
    """The last messages, as many as the handoff says."""
    FULL = "full"
    FORKED = "forked"
    """The specialist works in a conversation of its own, which begins with the last messages of this one."""


class HandoffOutcome(StrEnum):
    """How a handoff ended."""

    RETURNED = "returned"
    """By the specialist."""
    EXITED = "exited"
    """By the user."""
    CLOSED = "closed"
    """With the conversation."""
    REFUSED = "refused"
    """It never began: see ``handoff_rules``."""
    FAILED = "failed"
    """The specialist could not go on."""


class HandoffDefinition(Definition):
    """An agent that another may hand over to; in the file its id alone will do."""

    agent: AgentId
    """The target."""
    context_mode: ContextMode = ContextMode.SUMMARY
    recent_messages: int = Field(default=10, ge=1, le=200)
    """How many messages ``recent`` and ``forked`` bring along."""
    show_tool_calls: bool = False
    """Whether the target sees other agents' tool calls, as plain text."""
    preserve_state: bool = True
    """Whether its workflow is kept when the user leaves it."""
    return_expected: bool = True
    """Whether the target is offered ``return_to_main``; without, the user alone can end the handoff."""
    reason: str | None = Field(default=None, max_length=500)
    """When to hand over, for the model of the agent that does."""
    required_permissions: tuple[PermissionName, ...] = ()
    """What the user needs besides the permissions that the target itself requires."""

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, given: Any) -> Any:
        return {"agent": given} if isinstance(given, str) else given

    def as_json(self) -> dict[str, Any]:
        """The wire shape of ``/v1/agents``."""
        return {
            "agent": self.agent,
            "contextMode": self.context_mode.value,
            "recentMessages": self.recent_messages,
            "showToolCalls": self.show_tool_calls,
            "preserveState": self.preserve_state,
            "returnExpected": self.return_expected,
            "reason": self.reason,
            "requiredPermissions": list(self.required_permissions),
        }


class HandoffPlace(NamedTuple):
    """Where a handoff is kept in its thread; the same for every attempt at the run it was decided in."""

    ordinal: int
    """The first message of that run."""
    number: int
    """Among the handoffs of the run, from 0."""
    started: int
    """Epoch milliseconds."""


@dataclass(frozen=True, slots=True)
class HandoffRequest:
    """One handoff, as it is kept: made when it begins, ended once."""

    thread_id: str
    tenant_id: str
    user_id: str
    ordinal: int
    """The first message of the run it was decided in."""
    source_agent_id: str
    target_agent_id: str
    context_mode: ContextMode
    context_summary: str
    recent_messages: tuple[str, ...]
    """Ids of the messages that the specialist is given besides the summary, the oldest first."""
    handoff_reason: str
    started_at: datetime
    """When the message came that led to it: the same for every attempt at its run."""
    number: int = 0
    """Among the handoffs of its run, from 0."""
    preserve_state: bool = True
    return_expected: bool = True
    show_tool_calls: bool = False
    workflow_id: str | None = None
    """The workflow it is for."""
    remote_task_id: str | None = None
    """The task of a target that runs elsewhere, while that waits for the user's next message."""
    child_thread_id: str | None = None
    """Where the specialist works, if not in this thread (``forked``)."""
    outcome: HandoffOutcome | None = None
    """How it ended; None while it lasts."""
    ended_at: datetime | None = None

    @property
    def id(self) -> str:
        """Derived from its place, so that a run that is taken over makes no second one."""
        return handoff_id(self.thread_id, self.ordinal, self.number)

    @property
    def place(self) -> HandoffPlace:
        """Where it is kept in its thread."""
        return HandoffPlace(self.ordinal, self.number, to_millis(self.started_at))

    @property
    def audit_detail(self) -> dict[str, Any]:
        """What the audit log says about it."""
        return {
            "handoffId": self.id,
            "sourceAgentId": self.source_agent_id,
            "targetAgentId": self.target_agent_id,
            "reason": self.handoff_reason[:MAX_AUDITED],
        }

    @property
    def conversation_history_count(self) -> int:
        """How many messages the specialist is given."""
        return len(self.recent_messages)

    def ended(self, outcome: HandoffOutcome, now: datetime) -> HandoffRequest:
        """The request with how it ended; one that has ended already keeps its first outcome."""
        if self.outcome is not None:
            return self
        return replace(self, outcome=outcome, ended_at=now)

    def as_json(self) -> dict[str, Any]:
        """The wire shape."""
        return {
            "id": self.id,
            "sourceAgentId": self.source_agent_id,
            "targetAgentId": self.target_agent_id,
            "contextMode": self.context_mode.value,
            "contextSummary": self.context_summary,
            "conversationHistoryCount": self.conversation_history_count,
            "handoffReason": self.handoff_reason,
            "preserveState": self.preserve_state,
            "returnExpected": self.return_expected,
            "outcome": self.outcome.value if self.outcome is not None else None,
            "childThreadId": self.child_thread_id,
            "startedAt": iso(self.started_at),
            "endedAt": iso(self.ended_at) if self.ended_at is not None else None,
        }

    def as_a2a(self, recent_messages: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """The request for an agent that runs elsewhere, in A2A metadata; ``recent_messages`` in full."""
        return {
            "type": "handoff",
            "thread_id": self.thread_id,
            "tenant_id": self.tenant_id,
            "user_id": self.user_id,
            "source_agent_id": self.source_agent_id,
            "target_agent_id": self.target_agent_id,
            "context_summary": self.context_summary,
            "conversation_history_count": len(recent_messages),
            "recent_messages": list(recent_messages),
            "handoff_reason": self.handoff_reason,
            "preserve_state": self.preserve_state,
            "return_expected": self.return_expected,
        }


def handoff_id(thread_id: str, ordinal: int, number: int = 0) -> str:
    """The id of the ``number``-th handoff of the run whose first message is at ``ordinal``."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"handoff\0{ordinal}\0{number}"))
