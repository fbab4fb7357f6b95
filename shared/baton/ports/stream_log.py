"""The durable log of a thread's events, kept for a day, for clients that reconnect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from baton.domain.identity import Scope
from baton.ports.thread_store import Lease


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


class StreamLog(Protocol):
    """Pieces of events, in the order of their sequence numbers."""

    async def append(self, lease: Lease, piece: LogPiece) -> None:
        """Write a piece. Raises ``LeaseLost`` if a higher fence has written."""
        ...

    async def read(self, scope: Scope, thread_id: str, *, after: int) -> Sequence[LogPiece]:
        """Return the pieces that hold events beyond ``after``. The thread's ownership must have been checked before."""
        ...
