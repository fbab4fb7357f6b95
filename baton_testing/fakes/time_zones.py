"""The users' time zones in memory."""

from __future__ import annotations

from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock, LastTimeZone


class FakeTimeZones:
    """``ports.time_zones.TimeZones``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.of_users: dict[tuple[str, str], LastTimeZone] = {}
        """By tenant and user."""
        self.asked = 0
        """The number of reads."""

    async def last(self, scope: Scope) -> LastTimeZone | None:
        self.asked += 1
        return self.of_users.get((scope.tenant_id, scope.user_id))

    async def put(self, scope: Scope, name: str) -> None:
        since = from_millis(to_millis(self._clock.now()))
        self.of_users[scope.tenant_id, scope.user_id] = LastTimeZone(name, since)
