"""The queue of changes and notifications of A2A tasks."""

from __future__ import annotations

from typing import Protocol

from baton.domain.push_config import PushNotice, TaskChange


class PushQueue(Protocol):
    """Records that are delivered at least once, those of one group in order."""

    async def send(self, record: TaskChange | PushNotice) -> None:
        """Queue the record. Raises ``StoreUnavailable``."""
        ...

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        """Let a delivered record come again after ``seconds``. Its worker then fails it.

        Does nothing if another worker has the record. Raises ``StoreUnavailable``: then it comes after the queue's own
        timeout.
        """
        ...
