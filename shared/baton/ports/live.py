"""Who is watching a thread right now, and who wants its run stopped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.thread import LeaseMark


@dataclass(frozen=True, slots=True)
class Live:
    """What one query of a thread's live items shows."""

    connections: dict[str, datetime]
    """Connection id to the time its token expires."""
    cancelled_runs: frozenset[str] = frozenset()
    asked: frozenset[LeaseMark] = frozenset()
    """Leases whose holders somebody has asked for a sign of life."""


class LiveRegistry(Protocol):
    """Connections attached to threads. Items vanish by themselves a little after two hours (API Gateway's limit)."""

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        """Let the connection have the thread's events. The thread's ownership must have been checked before."""
        ...

    async def live(self, scope: Scope, thread_id: str) -> Live:
        """Who is attached, by a consistent read."""
        ...

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Ask whoever carries out the run to stop it. The thread's ownership must have been checked before."""
        ...

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Forget that the run was to be stopped, now that it has ended: a later one may bear the same id."""
        ...

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        """Ask whoever holds the lease to renew it at once. The thread's ownership must have been checked before."""
        ...

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        """Forget the connection for this thread."""
        ...

    async def disconnect(self, connection_id: str) -> None:
        """Forget the connection wherever it is attached."""
        ...
