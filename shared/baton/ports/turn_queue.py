"""The queue between the sockets, which must answer at once, and the workers, which may take minutes."""

from __future__ import annotations

from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.queued import Queued


class TurnQueue(Protocol):
    """Queued messages, delivered at least once and in order within a thread."""

    async def send(self, scope: Scope, message: Queued) -> None:
        """Queue the message. Once this returns, the message is accepted. Raises ``StoreUnavailable``."""
        ...
