"""References to schedules and tasks that are due, as the index and the queue of due items have them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class DueEntry(BaseModel):
    """A reference to a stored schedule or task that is due."""

    model_config = ConfigDict(frozen=True)

    partition: str
    sort: str
    at: datetime
    """The time at which it is due."""
