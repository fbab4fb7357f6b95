"""Ctrl-C during a run."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_interrupt(stop: Callable[[], Coroutine[None, None, None]]) -> Iterator[list[asyncio.Task[None]]]:
    """Call ``stop`` on the first Ctrl-C within the block, and raise ``KeyboardInterrupt`` on the second one.

    Yields a list with the task of ``stop``, which is empty before the first Ctrl-C.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    previous_handler = signal.getsignal(signal.SIGINT)
    stops: list[asyncio.Task[None]] = []
    is_leaving = False

    def interrupt() -> None:
        nonlocal is_leaving
        if not stops:
            stops.append(loop.create_task(stop()))
        elif task is not None:
            is_leaving = True
            task.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):
        # No signals here (Windows, a thread): Ctrl-C raises KeyboardInterrupt and leaves.
        yield stops
        return
    try:
        yield stops
    except asyncio.CancelledError:
        if is_leaving:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, previous_handler)
        for stop_task in stops:
            stop_task.cancel()
