"""Announcements of what has happened in Baton, for other systems (EventBridge)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class PendingProcedure:
    """A procedure that waits for approval. It has ids only, because events reach systems of any kind."""

    agent_id: str
    procedure_id: str
    version: int
    thread_id: str
    """The conversation that it was captured from."""


class Announcements(Protocol):
    """Announces events. A repeated announcement is delivered again: receivers compare procedure and version."""

    async def procedure_pending(self, scope: Scope, procedure: PendingProcedure) -> None:
        """Announce that a procedure waits for approval. Raises ``StoreUnavailable``."""
        ...
