"""Ports for time and random ids, so that tests can control them, and for the time zones of users."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Protocol

from baton.domain.tenants.identity import Scope


class Clock(Protocol):
    """Time and new ids."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def new_id(self) -> str:
        """Return a fresh random UUID (version 4)."""


class SystemClock:
    """The machine's clock and random generator."""

    advanced_by: ClassVar[timedelta] = timedelta()
    """The time by which the clock is ahead of the machine's. Only the local cloud sets it."""

    def now(self) -> datetime:
        return datetime.now(UTC) + self.advanced_by

    def new_id(self) -> str:
        return str(uuid.uuid4())


def read_machine_time(clock: Clock) -> datetime:
    """Return the machine's time, even if ``clock`` is ahead. Tokens, signatures and connections need it."""
    return clock.now() - SystemClock.advanced_by


@dataclass(frozen=True, slots=True)
class LastTimeZone:
    """The time zone of a user's last request that had one."""

    name: str
    since: datetime
    """The time of the first request with it."""


class TimeZones(Protocol):
    """One time zone for each user, which is removed when the user is forgotten. Methods raise ``StoreUnavailable``."""

    async def last(self, scope: Scope) -> LastTimeZone | None:
        """Return the user's last time zone; None if no request had one."""

    async def put(self, scope: Scope, name: str) -> None:
        """Store the user's time zone in place of the last one."""
