"""The conversation state: who speaks for Baton in a thread, and which workflow it is in the middle of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.workflow import Workflow


@dataclass(frozen=True, slots=True)
class ConversationState:
    """What a thread remembers of it between runs."""

    agent_id: str
    """The agent that answers the next message."""
    handoff: HandoffPlace | None = None
    """The handoff that gave it the conversation state; None: the main agent has it."""
    workflow: Workflow | None = None
    """The workflow the thread is in, without what it has collected."""
    resumable: tuple[Workflow, ...] = ()
    """The user's unfinished workflows that can be continued here, the one changed last first, without their data."""
    taught_at: datetime | None = None
    """When a skill was last made in this thread: what is remembered of skills must be younger."""


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """All that a run changes in the conversation state. Every attempt to commit the run writes it first."""

    conversation: ConversationState
    handoffs: tuple[HandoffRequest, ...] = ()
    """Begun, ended or refused by the run."""
    workflows: tuple[Workflow, ...] = ()
    """Changed by the run, with their data."""
    moved_from: Workflow | None = None
    """The workflow that is continued here, as it was found in another thread; without its data."""
    offered_id: str | None = None
    """The workflow that the user was offered to continue."""
