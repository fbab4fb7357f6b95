"""A clock that tests move, and the users' time zones."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta

from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock, LastTimeZone

NOON = datetime(2040, 3, 1, 12, tzinfo=UTC)
"""A time far ahead, so that no engine's TTL deletes what a test has just written."""


class FakeClock:
    """``ports.clock.Clock`` that stands still until it is moved. With ``seed``, ids repeat from run to run."""

    def __init__(self, now: datetime = NOON, *, seed: int | None = None) -> None:
        self.time = now
        self._random = random.Random(seed)  # noqa: S311 - ids of tests, not secrets

    def now(self) -> datetime:
        return self.time

    def new_id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def advance(self, seconds: float) -> None:
        """Move the time by ``seconds``, backwards if negative."""
        self.time += timedelta(seconds=seconds)


class FakeTimeZones:
    """``ports.clock.TimeZones``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.of_users: dict[tuple[str, str], LastTimeZone] = {}
        """The last time zones by tenant and user."""
        self.read_count = 0
        """The number of reads."""

    async def last(self, scope: Scope) -> LastTimeZone | None:
        self.read_count += 1
        return self.of_users.get((scope.tenant_id, scope.user_id))

    async def put(self, scope: Scope, name: str) -> None:
        since = from_millis(to_millis(self._clock.now()))
        self.of_users[scope.tenant_id, scope.user_id] = LastTimeZone(name, since)
