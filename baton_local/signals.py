"""Waits of the main thread that a signal may interrupt."""

from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 0.2
"""The longest time for which the main thread may wait without a break.

Python runs signal handlers in the main thread, and a signal wakes that thread only if the system delivers it there.
Linux may deliver it to a thread that is just starting another thread. The handler would then run only when the wait
ends: https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers.
"""


def wait_for_all(futures: Iterable[Future[object]]) -> None:
    """Return when all futures have ended, with or without an error. Raises the errors of signal handlers."""
    pending = list(futures)
    while wait(pending, timeout=LONGEST_WAIT_SECONDS).not_done:
        pass


def receive(items: SimpleQueue[T]) -> T:
    """Return the next of ``items``, once there is one. Raises the errors of signal handlers.

    A signal handler may put the item: unlike ``threading.Event``, this queue can be changed by the thread that waits.
    """
    while True:
        with suppress(Empty):
            return items.get(timeout=LONGEST_WAIT_SECONDS)
