"""Waits of the main thread that a signal may end."""

from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 0.2
"""The longest that the main thread may wait at once.

Python runs signal handlers in the main thread, and a signal wakes that thread only if the system delivers it there.
Linux may deliver it to a thread that is starting another thread just then: the handler would not run before the wait
ends, https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers.
"""


def wait_for_all(futures: Iterable[Future[object]]) -> None:
    """Return when all have ended, however they ended. Raises what signal handlers raise."""
    waited = list(futures)
    while wait(waited, timeout=LONGEST_WAIT_SECONDS).not_done:
        pass


def receive(waiting: SimpleQueue[T]) -> T:
    """Return the next item, once there is one. Raises what signal handlers raise.

    A signal handler may put it: unlike ``threading.Event``, the queue can be changed by the thread that waits for it.
    """
    while True:
        with suppress(Empty):
            return waiting.get(timeout=LONGEST_WAIT_SECONDS)
