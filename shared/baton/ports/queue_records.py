"""A queued record while it is being worked on."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class QueueRecords(Protocol):
    """How long the queue hides records from other workers."""

    def hidden(self, receipt_handle: str) -> AbstractAsyncContextManager[None]:
        """Hide the record while the block runs; one that fails comes back within seconds, to be tried again."""
        ...
