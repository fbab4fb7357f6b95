"""The task of a remote agent that works on a message of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RemoteTask:
    """Stored as soon as it is known, so that a worker that takes the run over follows it and sends nothing twice."""

    id: str
    """Baton's id of the message, the same in every attempt at the run."""
    agent_id: str
    remote_task_id: str
    """The agent's own id of its task."""
    known: Mapping[str, int] = field(default_factory=dict)
    """Characters of each message and artifact that the task had before the message, by the adapter's key."""
