"""Connections that watch a thread, cancellations of its run, and checks of its worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.thread import LeaseMark


@dataclass(frozen=True, slots=True)
class Live:
    """The live items of a thread, read by one query."""

    connections: dict[str, datetime]
    """Connection ids, and when the token of each expires."""
    cancelled_runs: frozenset[str] = frozenset()
    asked: frozenset[LeaseMark] = frozenset()
    """Leases whose holders were asked for a sign of life."""


class LiveRegistry(Protocol):
    """Connections attached to threads. Items expire a little after two hours (API Gateway's limit)."""

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        """Send the thread's events to the connection. The thread's ownership must have been checked before."""
        ...

    async def live(self, scope: Scope, thread_id: str) -> Live:
        """Return the thread's live items, by a consistent read."""
        ...

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Ask the run's worker to stop it. The thread's ownership must have been checked before."""
        ...

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Delete the cancellation of an ended run, because a later run may have the same id."""
        ...

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        """Ask the lease's holder to renew it at once. The thread's ownership must have been checked before."""
        ...

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        """Detach the connection from this thread."""
        ...

    async def disconnect(self, connection_id: str) -> None:
        """Detach the connection from every thread."""
        ...
