"""Execution environments, and what is built once in each of them.

In Lambda a process is one execution environment. The local cloud runs every function in one process, and yet each has
clients, settings and caches of its own, as it has when deployed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TypeVar

T = TypeVar("T")

current: ContextVar[str] = ContextVar("execution_environment", default="")
"""Whose code is running: a function's name where a process runs several, else empty."""


def cache(build: Callable[[], T]) -> Callable[[], T]:
    """As ``functools.cache``, for a function without parameters, but with one value an execution environment."""
    built: dict[str, T] = {}
    lock = threading.RLock()

    @wraps(build)
    def get() -> T:
        name = current.get()
        if name not in built:
            with lock:
                if name not in built:
                    built[name] = build()
        return built[name]

    return get
