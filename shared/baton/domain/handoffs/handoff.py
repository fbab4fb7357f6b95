"""Handoffs: their declaration in an agent's file, and the request that is stored for each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from baton.domain.definition import AgentId, Definition
from baton.domain.tenants.identity import PermissionName
from baton.domain.times import to_millis

MAX_SUMMARY = 4_000
"""Characters of the summary with which a handoff begins, and of the report that ends it."""
MAX_AUDITED = 200
"""Characters of a handoff's reason in the audit log."""


class ContextMode(StrEnum):
    """The part of the conversation that a specialist gets."""

    SUMMARY = "summary"
    """The handoff's summary and the user's message."""
    RECENT = "recent"
    """The last messages. The handoff says how many."""
    FULL = "full"
    FORKED = "forked"
    """The specialist works in a fork, which begins with the last messages of this conversation."""


class HandoffOutcome(StrEnum):
    """The outcome of a handoff."""

    RETURNED = "returned"
    """The specialist returned the conversation."""
    EXITED = "exited"
    """The user left the specialist."""
    CLOSED = "closed"
    """The handoff ended with the conversation."""
    REFUSED = "refused"
    """It never began: see ``handoff_rules``."""
    FAILED = "failed"
    """The specialist could not continue."""


class HandoffDefinition(Definition):
    """An agent to which another may hand over. The file may give its id only, and may call the target ``to``."""

    agent: AgentId
    """The target."""
    context_mode: ContextMode = ContextMode.SUMMARY
    recent_messages: int = Field(default=10, ge=1, le=200)
    """The number of messages that the modes ``recent`` and ``forked`` include."""
    show_tool_calls: bool = False
    """Whether the target sees other agents' tool calls, as plain text."""
    preserve_state: bool = True
    """Whether its workflow is saved when the user leaves."""
    return_expected: bool = True
    """Whether the target has the tool ``return_to_main``. Otherwise only the user can end the handoff."""
    reason: str | None = Field(default=None, max_length=500)
    """The situation in which to hand over, for the model of the agent that hands over."""
    required_permissions: tuple[PermissionName, ...] = ()
    """Permissions that the user needs in addition to those of the target."""

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"agent": value}
        if isinstance(value, Mapping) and "to" in value and "agent" not in value:
            return {"agent" if name == "to" else name: part for name, part in value.items()}
        return value


class HandoffPlace(NamedTuple):
    """The key of a handoff in its thread. It is the same in every attempt at the run."""

    ordinal: int
    """The ordinal of the first message of that run."""
    number: int
    """The number of the handoff in its run, from 0."""
    started: int
    """The time of the message that led to the handoff, in epoch milliseconds."""


@dataclass(frozen=True, slots=True)
class HandoffRequest:
    """One stored handoff: created when it begins, ended once."""

    thread_id: str
    tenant_id: str
    user_id: str
    ordinal: int
    """The ordinal of the first message of the run that began the handoff."""
    source_agent_id: str
    target_agent_id: str
    context_mode: ContextMode
    context_summary: str
    recent_messages: tuple[str, ...]
    """Ids of the messages that the specialist gets besides the summary, oldest first."""
    handoff_reason: str
    started_at: datetime
    """The time of the message that led to the handoff. It is the same in every attempt at the run."""
    number: int = 0
    """The number of the handoff in its run, from 0."""
    preserve_state: bool = True
    return_expected: bool = True
    show_tool_calls: bool = False
    workflow_id: str | None = None
    """The specialist's workflow."""
    remote_task_id: str | None = None
    """The task of a remote target that waits for the user's next message."""
    child_thread_id: str | None = None
    """The fork in which the specialist works, in the mode ``forked``."""
    outcome: HandoffOutcome | None = None
    """The outcome; None while the handoff lasts."""
    ended_at: datetime | None = None

    @property
    def id(self) -> str:
        """The id, derived from its place, so that another attempt at the run creates no second handoff."""
        return derive_handoff_id(self.thread_id, self.ordinal, self.number)

    @property
    def place(self) -> HandoffPlace:
        """Its key in the thread."""
        return HandoffPlace(self.ordinal, self.number, to_millis(self.started_at))

    @property
    def audit_detail(self) -> dict[str, Any]:
        """The detail of its audit record."""
        return {
            "handoffId": self.id,
            "sourceAgentId": self.source_agent_id,
            "targetAgentId": self.target_agent_id,
            "reason": self.handoff_reason[:MAX_AUDITED],
        }

    @property
    def conversation_history_count(self) -> int:
        """The number of messages that the specialist gets."""
        return len(self.recent_messages)

    def end(self, outcome: HandoffOutcome, now: datetime) -> HandoffRequest:
        """Return the request with its outcome. An ended request keeps its first outcome."""
        if self.outcome is not None:
            return self
        return replace(self, outcome=outcome, ended_at=now)

    def as_a2a(self, recent_messages: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """Return the request for a remote agent, in A2A metadata, with the complete ``recent_messages``."""
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


def derive_handoff_id(thread_id: str, ordinal: int, number: int = 0) -> str:
    """Return the id of the ``number``-th handoff of the run whose first message is at ``ordinal``."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"handoff\0{ordinal}\0{number}"))
