"""Where handoffs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.identity import Scope
from baton.ports.thread_store import Lease


class HandoffStore(Protocol):
    """The handoffs of threads, kept as long as their thread. The thread's ownership must have been checked before.

    A handoff's record is at the same time the audit log's: action ``handoff``, outcome ``started`` or ``refused``.
    Like every record of a run it counts when it is written, not from the commit on.
    """

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        """Keep the request as it is now, in place of what was kept under its place in the thread.

        Raises ``LeaseLost`` where a higher fence has written it.
        """
        ...

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        """The handoff at a place in the thread."""
        ...

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        """A page of the thread's handoffs, the newest first, and the next cursor. Raises ``InvalidRequest``."""
        ...
