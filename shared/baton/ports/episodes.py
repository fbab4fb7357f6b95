"""Where episodes are kept, and what is done when a session ends."""

from __future__ import annotations

from typing import Protocol

from baton.domain.episode import Episode, EpisodeRef
from baton.domain.identity import Scope
from baton.ports.thread_store import Lease


class Episodes(Protocol):
    """The episodes of threads. The thread's ownership must have been checked before."""

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        """Record that a session is ending. Raises ``LeaseLost``."""
        ...

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        """The session as it was recorded when it ended, whatever became of its episode."""
        ...

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """The episode; None while its closing is pending or if there is none."""
        ...

    async def complete(self, scope: Scope, episode: Episode) -> None:
        """Keep the episode. Doing it again changes nothing."""
        ...

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        """Record that the closing was given up; a complete episode stays complete."""
        ...


class Closings(Protocol):
    """Starts the closing pipeline of ended sessions (Step Functions)."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """Start it; an attempt that was started before is no error. Raises ``StoreUnavailable``."""
        ...
