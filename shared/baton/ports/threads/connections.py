"""Open WebSocket connections, the threads they watch, and signals to the workers of those threads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import LeaseMark


class ConnectionGone(Exception):
    """The client has disconnected permanently. The caller should forget the connection."""


class ConnectionBusy(Exception):
    """The gateway throttles. The caller should post less often."""


class FrameRefused(Exception):
    """The gateway refused one frame. The connection may accept another one, so it stays attached."""

    def __init__(self, reason: str, *, may_pass_later: bool = True) -> None:
        """``reason`` is the gateway's code. ``may_pass_later`` is False if the frame itself is at fault."""
        super().__init__(reason)
        self.reason = reason
        self.may_pass_later = may_pass_later


class Connections(Protocol):
    """The connected clients, which are sent frames (API Gateway's @connections)."""

    async def post(self, connection_id: str, frame: str) -> None:
        """Send one frame of at most 32 KB. Raises ``ConnectionGone``, ``ConnectionBusy`` and ``FrameRefused``."""

    async def close(self, connection_id: str) -> None:
        """Disconnect the client. A closed connection is not an error."""


@dataclass(frozen=True, slots=True)
class Live:
    """The live items of a thread, read by one query."""

    connections: dict[str, datetime]
    """Connection ids, each with the time at which its token expires."""
    cancelled_runs: frozenset[str] = frozenset()
    asked: frozenset[LeaseMark] = frozenset()
    """Leases whose holders were asked for a sign of life."""
    is_log_read: bool = False
    """Whether somebody reads the log while it is written."""


class LiveRegistry(Protocol):
    """Connections attached to threads. Items expire a little after two hours (API Gateway's limit)."""

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        """Send the thread's events to the connection, and count that in ``Thread.live_changes``.

        The thread's ownership must have been checked before.
        """

    async def live(self, scope: Scope, thread_id: str) -> Live:
        """Return the thread's live items, by a consistent read."""

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Ask the run's worker to stop it, and count that in ``Thread.live_changes``.

        The thread's ownership must have been checked before.
        """

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Delete the cancellation of an ended run, because a later run may have the same id."""

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        """Ask the lease's holder to renew it at once. The thread's ownership must have been checked before."""

    async def note_reader(self, scope: Scope, thread_id: str) -> None:
        """Note that somebody reads the thread's log, for a minute. The ownership must have been checked before."""

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        """Detach the connection from this thread."""

    async def disconnect(self, connection_id: str) -> None:
        """Detach the connection from every thread."""
