"""Storage of handoffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.identity import Scope
from baton.ports.thread_store import Lease


class HandoffStore(Protocol):
    """The handoffs of threads, kept as long as their thread. The thread's ownership must have been checked before.

    A handoff is also an audit record: action ``handoff``, outcome ``started`` or ``refused``. Like every record of a
    run, it is visible once written, before the commit.
    """

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        """Store the request, replacing an earlier version with the same ``place``.

        Raises ``LeaseLost`` if a higher fence has written it.
        """
        ...

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        """Return the handoff at a place in the thread."""
        ...

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        """Return a page of the thread's handoffs, the newest first, and the next cursor. Raises ``InvalidRequest``."""
        ...
