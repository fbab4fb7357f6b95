"""The conversation state: the active agent of a thread, its handoff and its workflow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.workflow import Workflow


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The state that a thread stores between runs."""

    agent_id: str
    """The agent that answers the next message."""
    handoff: HandoffPlace | None = None
    """The handoff that made the agent active; None for the main agent."""
    workflow: Workflow | None = None
    """The current workflow, without its collected data."""
    resumable: tuple[Workflow, ...] = ()
    """The user's unfinished workflows that can be continued here, latest change first, without their data."""
    taught_at: datetime | None = None
    """When a skill was last made in this thread. Cached procedures must be newer."""


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """All changes of the conversation state by a run. Every attempt to commit the run applies them first."""

    conversation: ConversationState
    handoffs: tuple[HandoffRequest, ...] = ()
    """Handoffs that the run has begun, ended or refused."""
    workflows: tuple[Workflow, ...] = ()
    """Workflows that the run has changed, with their data."""
    moved_from: Workflow | None = None
    """The workflow that is continued here, as it was read in its former thread; without its data."""
    offered_id: str | None = None
    """The workflow that the user was offered to continue."""
