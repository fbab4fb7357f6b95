"""Measure the load of this process by the lateness of its event loop.

In AWS every turn has its own environment. Here all turns share one process. Too many at once would slow each other
down until leases expire and turns are repeated.
"""

import asyncio
import threading
import time

from baton.composition.startup import event_loop

INTERVAL_SECONDS = 0.05
LATE_SECONDS = 0.03
"""The lateness from which the event loop counts as overloaded."""


class Pressure:
    """The load of this process, measured periodically by the lateness of its event loop."""

    def __init__(self) -> None:
        self._due = time.monotonic() + INTERVAL_SECONDS
        self._lateness = 0.0
        threading.Thread(target=lambda: event_loop.run(self._watch()), name="pressure", daemon=True).start()

    @property
    def is_high(self) -> bool:
        """Whether the loop is late or was so recently."""
        return max(self._lateness, time.monotonic() - self._due) > LATE_SECONDS

    async def _watch(self) -> None:
        while True:
            self._due = time.monotonic() + INTERVAL_SECONDS
            await asyncio.sleep(INTERVAL_SECONDS)
            self._lateness = max(self._lateness / 2, time.monotonic() - self._due)
