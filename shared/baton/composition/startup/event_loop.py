"""One long-lived event loop for handlers that AWS calls synchronously.

With a separate loop for each invocation, open connections to the model would be lost each time. In the local cloud,
many invocations share one process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_starting = threading.Lock()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run ``coroutine`` on the process's event loop and wait for its result. Thread-safe."""
    return asyncio.run_coroutine_threadsafe(coroutine, _get_loop()).result()


def begin(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run ``coroutine`` on the process's event loop without waiting for it. Thread-safe."""
    return asyncio.run_coroutine_threadsafe(coroutine, _get_loop())


def _get_loop() -> asyncio.AbstractEventLoop:
    with _starting:  # without the lock, two first calls at the same time would start a loop each
        return _start_loop()


@cache
def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="baton-loop", daemon=True).start()
    return loop
