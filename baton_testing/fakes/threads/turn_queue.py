"""A queue of turns in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Queued


@dataclass
class FakeTurnQueue:
    """``ports.threads.turn_queue.TurnQueue``. Messages are in order, and each request id occurs once."""

    sent: list[tuple[Scope, Queued]] = field(default_factory=list)
    is_down: bool = False

    async def send(self, scope: Scope, message: Queued) -> None:
        if self.is_down:
            raise StoreUnavailable
        if all(message.request_id != earlier.request_id for _, earlier in self.sent):
            self.sent.append((scope, message))
