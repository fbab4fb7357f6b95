"""Feedback on answers, kept with their thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.feedback import Feedback
from baton.domain.identity import Scope
from baton.domain.thread import Thread


class FeedbackStore(Protocol):
    """Feedback of users on answers in their own threads.

    ``get_thread`` must have checked who may read the thread. Every method raises ``StoreUnavailable`` if the table does
    not answer.
    """

    async def put(self, scope: Scope, thread: Thread, feedback: Feedback) -> None:
        """Store the feedback in place of an earlier one, and mark the thread as one that has some.

        Raises ``ThreadUnavailable`` for a thread that is not the caller's own, or deleted meanwhile.
        """
        ...

    async def withdraw(self, scope: Scope, thread: Thread, ordinal: int) -> None:
        """Remove the feedback on the message at ``ordinal``, if there is any."""
        ...

    async def get(self, scope: Scope, thread: Thread, ordinal: int) -> Feedback | None:
        """Return the feedback on the message at ``ordinal``."""
        ...

    async def between(self, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int) -> Sequence[Feedback]:
        """Return the feedback on messages from ``first_ordinal`` up to, but not including, ``end_ordinal``, in order.

        Costs nothing for a thread without any (``Thread.has_feedback``).
        """
        ...
