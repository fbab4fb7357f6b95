"""A clock that tests move."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta

NOON = datetime(2040, 3, 1, 12, tzinfo=UTC)
"""Far ahead, so that no engine's TTL collects what a test has written a moment ago."""


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
        """Move the time, backwards if ``seconds`` is negative."""
        self.time += timedelta(seconds=seconds)
