"""The port to the lists of conversations at desks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import ConversationState, Thread


@dataclass(frozen=True, slots=True)
class DeskPlace:
    """The entry of a conversation in a desk's list. The conversation's own state decides whether it is still valid."""

    desk_id: str
    thread_id: str
    arrived_at: datetime

    @classmethod
    def of(cls, thread_id: str, conversation: ConversationState) -> DeskPlace | None:
        """Return the entry of a conversation with this state; None if it is at no desk."""
        if conversation.desk is None:
            return None
        return cls(conversation.agent_id, thread_id, conversation.desk.arrived_at)


class DeskPlaces(Protocol):
    """The conversations at each desk of a tenant, by their arrival."""

    async def add(self, scope: Scope, desk_place: DeskPlace) -> None:
        """List a conversation. A repetition changes nothing. Raises ``StoreUnavailable``."""

    async def remove(self, scope: Scope, desk_place: DeskPlace) -> None:
        """Remove a conversation from the list. A missing entry is not an error."""

    async def threads(
        self, scope: Scope, desk_id: str, *, limit: int, after: DeskPlace | None = None
    ) -> Sequence[Thread]:
        """Return the threads at a desk in the order of their arrival; at most ``limit``.

        Threads that have left are skipped, and their entries removed once these are some minutes old. ``after``: the
        last entry of the previous page.
        """
