"""A queued record while it is being worked on."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from baton.domain.queued import RecordDelivery


class HeldRecord(Protocol):
    """A record that its worker hides from the others, a few seconds at a time."""

    @property
    def delivery(self) -> RecordDelivery:
        """Which record it is, and how often it has come."""
        ...

    def seconds_left(self) -> float:
        """For how long nobody else is given the record, by all that is known; negative once somebody may have it."""
        ...

    def attempting(self, attempt: int) -> None:
        """Tell which attempt at its run this is: from the second on the record is hidden for longer at a time.

        A worker that is only held up must not lose its record again and again.
        """
        ...


class QueueRecords(Protocol):
    """How long the queue hides records from other workers."""

    def hidden(self, receipt_handle: str, delivery: RecordDelivery) -> AbstractAsyncContextManager[HeldRecord]:
        """Hide the record while the block runs; one that fails comes back within seconds, to be tried again.

        A record whose worker dies comes again within seconds, too.
        """
        ...
