"""Threads that the sweeper must check: idle ones, those with a dead run, those with a failed closing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.thread import Thread


@dataclass(frozen=True, slots=True)
class IdleThread:
    """A thread to check, with its user's scope."""

    scope: Scope
    thread: Thread
    closes_at: datetime
    """When the idle timeout ends, counted from the last activity."""
    has_last_episode: bool = False
    """Whether the previous session's episode is known to be settled. If not, the caller must read it."""


@dataclass(frozen=True, slots=True)
class DueThread:
    """A thread whose check time has come. Its record is not parsed yet."""

    tenant_id: str
    thread_id: str
    check_at: datetime
    """When the check was due. A changed value means that another sweep was faster."""
    failures: int
    """Consecutive failed checks."""
    read: Callable[[], IdleThread]
    """Parses the record. Raises any exception that an unreadable record causes."""


class IdleThreads(Protocol):
    """The index of open threads by check time, across all tenants. Only the sweeper uses it."""

    def due(self, before: datetime) -> AsyncIterator[DueThread]:
        """Yield threads whose check time has come, longest overdue first, one page of each shard in turn."""
        ...

    async def postpone(self, due: DueThread, until: datetime, *, failures: int = 0) -> bool:
        """Move the check time forward; return False if it was moved already. ``failures`` is stored for ``due``."""
        ...
