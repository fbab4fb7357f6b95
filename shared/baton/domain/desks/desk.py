"""The declaration of a desk: an agent whose answers people write."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from baton.domain.definition import Definition
from baton.domain.desks.opening_hours import OpeningHours
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.tenants.identity import PermissionName

MAX_MINUTES = 7 * 24 * 60
"""The longest wait for people: a week."""


class ClosedDesk(StrEnum):
    """The behaviour of a desk outside its hours."""

    STAY = "tell"
    """The user learns the time of the next opening, and stays with the agent."""
    QUEUE = "queue"
    """The conversation waits until the desk opens."""


class DeskDefinition(Definition):
    """The rules of a desk. Its name, description, triggers and sentences are those of its agent."""

    permission: PermissionName | None = None
    """The permission that its people need besides ``desk:answer``."""
    context: ContextMode = ContextMode.SUMMARY
    """The part of the conversation that the desk's people get with a handoff that does not set another."""
    hours: OpeningHours | None = None
    """Its opening hours; None: it is always open."""
    wait_minutes: int = Field(default=10, ge=1, le=MAX_MINUTES)
    """Minutes of opening time after which a conversation that nobody has taken returns to its main agent."""
    silence_minutes: int = Field(default=30, ge=0, le=MAX_MINUTES)
    """Minutes without an answer of the person after which the conversation returns to its main agent; 0: never."""
    closed: ClosedDesk = ClosedDesk.STAY

    def is_open(self, now: datetime) -> bool:
        """Return whether its people answer at ``now``."""
        return self.hours is None or self.hours.is_open(now)

    def find_next_opening(self, now: datetime) -> datetime | None:
        """Return the start of the next opening hours; None for a desk that is always open, or has none soon."""
        return self.hours.find_next_opening(now) if self.hours is not None else None

    @property
    def waits_when_closed(self) -> bool:
        """Whether conversations wait for the desk while it is closed."""
        return self.closed is ClosedDesk.QUEUE

    def takes_at(self, now: datetime) -> bool:
        """Return whether the desk accepts a conversation at ``now``: it is open, or lets conversations wait."""
        return self.waits_when_closed or self.is_open(now)

    @property
    def wait(self) -> timedelta:
        """The time for which a conversation waits for a person."""
        return timedelta(minutes=self.wait_minutes)

    @property
    def silence(self) -> timedelta | None:
        """The time without an answer of the person after which the conversation returns; None: never."""
        return timedelta(minutes=self.silence_minutes) if self.silence_minutes else None
