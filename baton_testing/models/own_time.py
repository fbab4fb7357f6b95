"""The CPU time of Baton itself in a step: that of the loop's thread, without stand-ins for external services."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class OwnTime:
    """The CPU time of the thread that runs a conversation."""

    def __init__(self) -> None:
        self._began = time.thread_time()
        self._others = 0.0

    def restart(self) -> None:
        """Reset the time to zero."""
        self._began, self._others = time.thread_time(), 0.0

    @property
    def milliseconds(self) -> float:
        """The counted milliseconds since the start."""
        return max(0.0, time.thread_time() - self._began - self._others) * 1000

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Exclude the time of the block, which must not await anything."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._others += time.thread_time() - began
