"""Causes of runs that no message of a user has begun."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

LATE_SECONDS = 60
"""Seconds after its due time from which a run counts as late."""


class CauseKind(StrEnum):
    """The kind of a run's cause."""

    SCHEDULE = "schedule"
    EVENT = "event"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class RunSource:
    """The cause of a run that began by itself: a slot of a schedule, an event, or the result of a task."""

    kind: CauseKind
    id: str
    """The id of the schedule, the event or the task."""
    type: str | None = None
    """The type of an event."""
    late: int | None = None
    """Seconds by which the run began late; None if it was on time."""

    def begin(self, now: datetime, due_at: datetime) -> RunSource:
        """Return the cause of a run that begins at ``now`` and was due at ``due_at``."""
        late = int((now - due_at).total_seconds())
        return replace(self, late=late if late >= LATE_SECONDS else None)

    def wire(self) -> dict[str, Any]:
        """Return the wire form, ``metadata.source`` of the run's first message."""
        optional = {"type": self.type, "late": self.late}
        return {"kind": self.kind.value, "id": self.id} | {
            name: value for name, value in optional.items() if value is not None
        }
