"""A queue record in virtual time, as ``adapters.aws.sqs`` has it: hidden while its worker can extend its time."""

from __future__ import annotations

import asyncio

from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import USUAL_TIMES as TIMES


class Held:
    """``HeldRecord`` of one delivery."""

    def __init__(self, delivery: RecordDelivery) -> None:
        self._delivery = delivery
        self._seconds = TIMES.choose_hidden_seconds(delivery.receives)
        self._hidden_until = asyncio.get_running_loop().time() + self._seconds

    @property
    def delivery(self) -> RecordDelivery:
        return self._delivery

    @property
    def is_lost(self) -> bool:
        return self.count_seconds_left() <= 0

    def count_seconds_left(self) -> float:
        return self._hidden_until - asyncio.get_running_loop().time()

    def note_attempt(self, attempt: int) -> None:
        self._seconds = TIMES.choose_hidden_seconds(attempt)

    async def keep_hidden(self) -> None:
        """Extend it, in the worker's own process, for as long as that lives and is in time."""
        while self.count_seconds_left() > 0:
            self._hidden_until = asyncio.get_running_loop().time() + self._seconds
            await asyncio.sleep(TIMES.extend)

    async def wait_for_end(self, task: asyncio.Task[None]) -> None:
        """Wait for the end of the work, or until the record comes again."""
        while not task.done() and self.count_seconds_left() > 0:
            await asyncio.wait([task], timeout=self.count_seconds_left())
