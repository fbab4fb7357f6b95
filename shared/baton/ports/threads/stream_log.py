"""The port to the durable log of a thread's events, kept for a day, for clients that reconnect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Consecutive events of one attempt at a run, without their metadata."""

    run_id: str | None
    """The run; None if the events belong to no run."""
    attempt: int
    first_seq: int
    events: tuple[dict[str, Any], ...]

    @property
    def last_seq(self) -> int:
        """The sequence number of the last event."""
        return self.first_seq + len(self.events) - 1


MAX_READ_BYTES = 4 * 1024 * 1024
"""The most bytes of events, as JSON, of one read, apart from the rest of the run that is being read then."""
MAX_RUN_BYTES = 16 * 1024 * 1024
"""The most bytes of a read that continues to the start of a run, so that the newest run is read as a whole."""


@dataclass(frozen=True, slots=True)
class LogRead:
    """The newest of the requested pieces, in order."""

    pieces: Sequence[LogPiece]
    is_whole: bool = True
    """False if earlier pieces were left out, because all together are too large for one read."""


def is_full(size: int, run_id: str | None, earlier_run_id: str | None) -> bool:
    """Return whether a read that has ``size`` bytes ends before the next, earlier piece.

    ``run_id`` is the run of the last piece read, ``earlier_run_id`` that of the next one. A read ends between two runs
    if it can, because clients cannot use a part of a run.
    """
    return size >= MAX_RUN_BYTES or (size >= MAX_READ_BYTES and run_id != earlier_run_id)


class StreamLog(Protocol):
    """Pieces of events, in the order of their sequence numbers."""

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        """Write a piece. Raises ``LeaseLost`` if a worker with a higher fence has written."""

    async def read(
        self, scope: Scope, thread_id: str, *, after: int, through: int | None = None, kept_after: int | None = None
    ) -> LogRead:
        """Return the newest pieces with events after the number ``after``, as many as one read may return.

        Pieces that begin after the number ``through`` are left out, and so are pieces that are older than a day, unless
        they begin after the number ``kept_after``. The thread's ownership must have been checked before.
        """
