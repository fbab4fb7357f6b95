"""Actors run product code in a generated case: each has its own clock, and can be killed at any of its calls."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from tests.virtual_time import DeterministicLoop

START = datetime(2040, 3, 1, 12, tzinfo=UTC)
"""Far ahead, so that no engine's TTL collects what a case has written a moment ago."""


class Killed(BaseException):
    """Raised in a killed process, whose requests and answers are lost."""


@dataclass
class Actor:
    """A worker process, a Lambda environment, a caller's HTTP request."""

    name: str
    skew: float = 0.0
    """Seconds its clock is ahead."""
    kill_at: int | None = None
    """The call at which it is killed, counted from 1."""
    kill_at_write: int | None = None
    """The same, counting only calls that change something: there it hurts."""
    kill_when: Literal["before", "after"] = "before"
    """True if that call still took effect."""
    freeze_at: int | None = None
    """The call before which it stands still for ``freeze_seconds``, as a suspended process does."""
    freeze_at_write: int | None = None
    """The same, counting only calls that change something."""
    freeze_seconds: float = 0.0
    freezes_again: int | None = None
    """After how many more calls it stands still once more, again and again; None: it does so once."""
    frozen_until: float = 0.0
    calls: int = 0
    writes: int = 0
    dead: bool = False

    def counts_down(self, *, writes: bool) -> bool:
        """Count a call; whether it is the one to be killed at."""
        self.calls += 1
        self.writes += writes
        at_call = self.kill_at is not None and self.calls >= self.kill_at
        return at_call or (writes and self.kill_at_write is not None and self.writes >= self.kill_at_write)

    def freezes(self) -> bool:
        """Return whether the process freezes now: once, or again and again."""
        at_call = self.freeze_at is not None and self.calls >= self.freeze_at
        if at_call or (self.freeze_at_write is not None and self.writes >= self.freeze_at_write):
            self.freeze_at = self.freeze_at_write = None
            if self.freezes_again is not None:
                self.freeze_at = self.calls + self.freezes_again
            return True
        return False

    def check(self) -> None:
        """Raise ``Killed`` if it is dead."""
        if self.dead:
            raise Killed(self.name)


_current: ContextVar[Actor | None] = ContextVar("actor", default=None)


def current() -> Actor | None:
    """The running actor; None: the test itself, which looks on and is not to be disturbed."""
    return _current.get()


@contextmanager
def acting(actor: Actor | None) -> Iterator[Actor | None]:
    """Let the block, and every task begun in it, be the actor's."""
    token = _current.set(actor)
    try:
        yield actor
    finally:
        _current.reset(token)


@dataclass
class CaseClock:
    """``ports.clock.Clock`` in virtual time: what the current actor's clock shows."""

    loop: DeterministicLoop
    random: random.Random
    jump: float = 0.0
    """Seconds by which all clocks have jumped."""
    longest: float = field(default=0.0)

    def now(self) -> datetime:
        actor = current()
        return START + timedelta(seconds=self.loop.time() + self.jump + (actor.skew if actor else 0.0))

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))
