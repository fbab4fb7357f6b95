"""Episodes, and the pipeline that closes sessions."""

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
        """Return the session as recorded at its end, whatever the state of its episode."""
        ...

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """Return the episode; None if there is none or its closing is pending."""
        ...

    async def complete(self, scope: Scope, episode: Episode) -> None:
        """Store the episode. A repetition changes nothing."""
        ...

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        """Record that the closing has failed. A complete episode stays complete."""
        ...


class Closings(Protocol):
    """Starts the closing pipeline of ended sessions (Step Functions)."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is no error. Raises ``StoreUnavailable``."""
        ...
