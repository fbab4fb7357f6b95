"""Ports for open WebSocket connections, the threads they watch, and signals to the workers of those threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import WaitingMessage
from baton.domain.threads.thread import LeaseMark

TYPING_NOTED_EVERY = timedelta(seconds=3)
"""The shortest time between two writes of a note that a user is typing."""
TYPING_COUNTS = timedelta(seconds=6)
"""The time for which a note that a user is typing counts. Clients send one every three seconds."""


class ConnectionGone(Exception):
    """The client has disconnected permanently. The caller should forget the connection."""


class ConnectionBusy(Exception):
    """The gateway throttles, fails or does not answer. The caller should post again later."""


class FrameRefused(Exception):
    """The gateway refused one frame. The connection may accept another one, so it stays attached."""

    def __init__(self, reason: str, *, may_pass_later: bool = True) -> None:
        """``reason`` is the gateway's code. ``may_pass_later`` is False if the frame itself is at fault."""
        super().__init__(reason)
        self.reason = reason
        self.may_pass_later = may_pass_later


class Connections(Protocol):
    """The connections of clients, to which frames are sent (API Gateway's ``@connections``)."""

    async def post(self, connection_id: str, frame: str) -> None:
        """Send one frame of at most 32 KB. Raises ``ConnectionGone``, ``ConnectionBusy`` and ``FrameRefused``."""

    async def close(self, connection_id: str) -> None:
        """Disconnect the client. A failure is ignored, because the gateway closes idle connections itself."""


@dataclass(frozen=True, slots=True)
class Live:
    """The live items of a thread, read by one query."""

    connections: dict[str, datetime]
    """The attached connections, each with the time at which its token expires."""
    cancelled_runs: frozenset[str] = frozenset()
    asked: frozenset[LeaseMark] = frozenset()
    """Leases whose holders were asked for a sign of life."""
    is_log_read: bool = False
    """Whether a client reads the log while it is written."""
    waiting: tuple[WaitingMessage, ...] = ()
    """Messages that were sent while a run was in progress, in the order in which they were sent."""
    users: dict[str, str] = field(default_factory=dict, compare=False)
    """The ids of the users who attached the connections, by connection."""


class LiveRegistry(Protocol):
    """The live items of threads: attached connections, requests to workers, waiting messages and notes about users.

    Attachments expire a little after two hours (API Gateway's limit).
    """

    async def attach(self, scope: Scope, thread_id: str, connection_id: str, token_expires_at: datetime) -> None:
        """Attach the connection to the thread's events, and count this in ``Thread.live_changes``.

        The thread's ownership must have been checked before.
        """

    async def live(self, scope: Scope, thread_id: str) -> Live:
        """Return the thread's live items, by a consistent read."""

    async def request_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Ask the run's worker to stop the run, and count this in ``Thread.live_changes``.

        The thread's ownership must have been checked before.
        """

    async def clear_cancel(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Delete the cancellation of an ended run, because a later run may have the same id."""

    async def put_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        """Add a waiting message, in place of an earlier version. The thread's ownership must have been checked."""

    async def add_waiting(self, scope: Scope, thread_id: str, waiting: WaitingMessage) -> None:
        """Add a waiting message unless its id is taken. The thread's ownership must have been checked."""

    async def waiting(self, scope: Scope, thread_id: str) -> Sequence[WaitingMessage]:
        """Return the thread's waiting messages in the order in which they were sent. Some may no longer wait."""

    async def remove_waiting(self, scope: Scope, thread_id: str, message_id: str) -> None:
        """Remove a waiting message, if there is one with this id."""

    async def ask(self, scope: Scope, thread_id: str, lease: LeaseMark) -> None:
        """Ask the lease's holder to renew it at once. The thread's ownership must have been checked before."""

    async def note_reader(self, scope: Scope, thread_id: str) -> None:
        """Note for a minute that a client reads the thread's log. The ownership must have been checked before."""

    async def note_typing(self, scope: Scope, thread_id: str) -> None:
        """Note that the thread's user is typing, for a few seconds: at most one write in three seconds.

        The ownership must have been checked before.
        """

    async def find_typing(self, scope: Scope, since: Mapping[str, datetime]) -> frozenset[str]:
        """Return the threads in ``since`` whose users are typing, and have typed after the thread's time there.

        Callers must be allowed to read each of the threads.
        """

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        """Detach the connection from this thread."""

    async def disconnect(self, connection_id: str) -> None:
        """Detach the connection from every thread."""
