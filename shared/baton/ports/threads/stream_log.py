"""The durable log of a thread's events, kept for a day, for clients that reconnect."""

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
    """None if the events belong to no run."""
    attempt: int
    first_seq: int
    events: tuple[dict[str, Any], ...]

    @property
    def last_seq(self) -> int:
        return self.first_seq + len(self.events) - 1


MAX_READ_BYTES = 4 * 1024 * 1024
"""Bytes of events, as JSON, that one read returns at most, apart from the run that begins before this limit."""
MAX_RUN_BYTES = 16 * 1024 * 1024
"""Bytes of events of one run that a read returns beyond that limit, so that the newest run is read from its start."""


@dataclass(frozen=True, slots=True)
class LogRead:
    """The newest of the pieces that were asked for, in order."""

    pieces: Sequence[LogPiece]
    is_whole: bool = True
    """False if earlier pieces were left out, because all of them are too large for one read."""


def is_full(size: int, run_id: str | None, earlier_run_id: str | None) -> bool:
    """Return whether a read of ``size`` bytes, which has come to the run ``run_id``, takes no earlier piece.

    It ends between two runs if it can, because clients cannot use the rest of a run.
    """
    return size >= MAX_RUN_BYTES or (size >= MAX_READ_BYTES and run_id != earlier_run_id)


class StreamLog(Protocol):
    """Pieces of events, in the order of their sequence numbers."""

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        """Write a piece. Raises ``LeaseLost`` if a higher fence has written."""

    async def read(self, scope: Scope, thread_id: str, *, after: int, through: int | None = None) -> LogRead:
        """Return the newest pieces that hold events beyond ``after``, as many as one read may return.

        Pieces that begin after the number ``through`` are left out. The thread's ownership must have been checked
        before.
        """
