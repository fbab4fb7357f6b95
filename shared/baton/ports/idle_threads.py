"""Threads that are due for a look: idle ones, ones whose run died, ones whose closing got stuck."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.thread import Thread


@dataclass(frozen=True, slots=True)
class IdleThread:
    """A thread to look at, with the scope of the user it belongs to."""

    scope: Scope
    thread: Thread
    closes_at: datetime
    """When its idle time is over, by its last activity."""
    has_last_episode: bool = False
    """Whether the episode of the session before this one is known to be stored; if not, it has to be asked for."""


@dataclass(frozen=True, slots=True)
class DueThread:
    """A thread whose check time has come, before anybody has made sense of its record."""

    tenant_id: str
    thread_id: str
    check_at: datetime
    """When it was to be looked at; a change means that another sweep was quicker."""
    failures: int
    """Looks in a row that failed."""
    read: Callable[[], IdleThread]
    """Makes sense of the record. Raises whatever a record raises that cannot be read."""


class IdleThreads(Protocol):
    """The index of open threads by the time they are to be looked at; of every tenant, for the sweeper alone."""

    def due(self, before: datetime) -> AsyncIterator[DueThread]:
        """Threads whose check time has come, the longest overdue first; of every shard some, before more of any."""
        ...

    async def postpone(self, due: DueThread, until: datetime, *, failures: int = 0) -> bool:
        """Move the check time forward; False if it had been moved already. ``failures`` is what ``due`` will say."""
        ...
