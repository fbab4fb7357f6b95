"""The floor: who speaks for Baton in a thread, and which workflow it is in the middle of (H2, W1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Floor:
    """What a thread remembers of it between runs."""

    agent_id: str
    """The agent that answers the next message."""
    handoff: HandoffPlace | None = None
    """The handoff that gave it the floor; None: the main agent has it."""
    workflow: Workflow | None = None
    """The workflow the thread is in, without what it has collected."""
    resumable: tuple[Workflow, ...] = ()
    """The user's unfinished workflows that can be continued here, the one changed last first, without their data."""
    taught_at: datetime | None = None
    """When a skill was last made in this thread: what is remembered of skills must be younger."""


@dataclass(frozen=True, slots=True)
class FloorChange:
    """What a run does to the floor, whole: whoever commits the run, first or again, carries it out first."""

    floor: Floor
    handoffs: tuple[HandoffRequest, ...] = ()
    """Begun, ended or refused by the run."""
    workflows: tuple[Workflow, ...] = ()
    """Changed by the run, with their data."""
    moved_from: Workflow | None = None
    """The workflow that is continued here, as it was found in another thread; without its data."""
    offered_id: str | None = None
    """The workflow that the user was offered to continue."""
