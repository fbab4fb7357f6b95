"""The places of conversations at desks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import ConversationState, Thread


@dataclass(frozen=True, slots=True)
class DeskPlace:
    """The place of a conversation at a desk. The conversation's own state says whether it is still there."""

    desk_id: str
    thread_id: str
    arrived_at: datetime

    @classmethod
    def of(cls, thread_id: str, conversation: ConversationState) -> DeskPlace | None:
        """Return the place of a conversation with this state; None if it is at no desk."""
        if conversation.desk is None:
            return None
        return cls(conversation.agent_id, thread_id, conversation.desk.arrived_at)


class DeskPlaces(Protocol):
    """The conversations at each desk of a tenant, by their arrival."""

    async def add(self, scope: Scope, desk_place: DeskPlace) -> None:
        """List a conversation. A repetition changes nothing. Raises ``StoreUnavailable``."""

    async def remove(self, scope: Scope, desk_place: DeskPlace) -> None:
        """Remove a conversation from the list, if it is there."""

    async def threads(
        self, scope: Scope, desk_id: str, *, limit: int, after: DeskPlace | None = None
    ) -> Sequence[Thread]:
        """Return the threads at a desk in the order of their arrival; at most ``limit``.

        Threads that have left are skipped, and their places removed. ``after``: the last one of the previous page.
        """
