"""Whether turns have the processor they need: how late the event loop is on which they run in this process.

In AWS every turn has a processor of its own. Here all share one process: more turns at once than it can carry would
make every one of them slow, until leases lapse and turns are begun again for nothing.
"""

import asyncio
import threading
import time

from baton.composition import event_loop

INTERVAL_SECONDS = 0.05
LATE_SECONDS = 0.1
"""A loop that is this late has more to do than it can."""


class Pressure:
    """Looks at the loop again and again, as long as the process lives."""

    def __init__(self) -> None:
        self._due = time.monotonic() + INTERVAL_SECONDS
        self._lateness = 0.0
        threading.Thread(target=lambda: event_loop.run(self._watch()), name="pressure", daemon=True).start()

    @property
    def is_high(self) -> bool:
        """Whether the loop is late, or was a moment ago."""
        return max(self._lateness, time.monotonic() - self._due) > LATE_SECONDS

    async def _watch(self) -> None:
        while True:
            self._due = time.monotonic() + INTERVAL_SECONDS
            await asyncio.sleep(INTERVAL_SECONDS)
            self._lateness = max(self._lateness / 2, time.monotonic() - self._due)
