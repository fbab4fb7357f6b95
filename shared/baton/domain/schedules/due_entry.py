"""References to items that are due, as the index and the queue of due items have them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class DueEntry(BaseModel):
    """A reference to a stored schedule, background task or put-off message that is due."""

    model_config = ConfigDict(frozen=True)

    partition: str
    sort: str
    at: datetime
    """The time at which it is due."""
