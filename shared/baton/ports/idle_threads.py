"""Threads that are due for a look: idle ones, ones whose run died, ones whose closing got stuck."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
    check_at: datetime
    """When it was to be looked at; a change means that another sweep was quicker."""
    closes_at: datetime
    """When its idle time is over, by its last activity."""


class IdleThreads(Protocol):
    """The index of open threads by the time they are to be looked at; of every tenant, for the sweeper alone."""

    def due(self, before: datetime) -> AsyncIterator[IdleThread]:
        """Threads whose check time has come, the longest overdue of each shard first."""
        ...

    async def postpone(self, idle: IdleThread, until: datetime) -> bool:
        """Move the check time forward; False if it had been moved already."""
        ...
