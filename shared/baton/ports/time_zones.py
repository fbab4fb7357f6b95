"""The time zones that users were in last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class LastTimeZone:
    """The time zone of a user's last request that had one."""

    name: str
    since: datetime
    """The time of the first request with it."""


class TimeZones(Protocol):
    """One time zone for each user. Forgetting the user removes it. Raises ``StoreUnavailable``."""

    async def last(self, scope: Scope) -> LastTimeZone | None:
        """Return the user's last time zone; None if no request had one."""
        ...

    async def put(self, scope: Scope, name: str) -> None:
        """Store the user's time zone in place of the last one."""
        ...
