"""The port to the queue between the WebSocket functions, which must answer at once, and the workers of turns."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Queued, RecordDelivery


class TurnQueue(Protocol):
    """Queued messages, delivered at least once and in order within a thread."""

    async def send(self, scope: Scope, message: Queued) -> None:
        """Queue the message. Once this returns, the message is accepted. Raises ``StoreUnavailable``."""


class HeldRecord(Protocol):
    """A record that its worker hides from other workers, a few seconds at a time."""

    @property
    def delivery(self) -> RecordDelivery:
        """The record's id and the number of its deliveries."""

    @property
    def is_lost(self) -> bool:
        """Whether the queue has delivered the record again, so that another worker has it."""

    def count_seconds_left(self) -> float:
        """Return the seconds for which the record stays hidden; negative if another worker may have it already."""

    def note_attempt(self, attempt: int) -> None:
        """Note the number of the attempt at the run. From the second attempt on, the record is hidden for longer.

        A slow worker then does not lose its record repeatedly.
        """


class QueueRecords(Protocol):
    """Visibility of queue records."""

    def hide(self, receipt_handle: str, delivery: RecordDelivery) -> AbstractAsyncContextManager[HeldRecord]:
        """Hide the record while the block runs. If the block fails or the worker dies, it is visible within seconds."""
