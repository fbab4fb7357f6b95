"""Execution environments, and objects that are built once in each of them.

In Lambda a process is one execution environment. The local cloud runs all functions in one process, but each function
has its own clients, settings and caches, as when it is deployed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TypeVar

T = TypeVar("T")

current: ContextVar[str] = ContextVar("execution_environment", default="")
"""The name of the running function if the process runs several functions, otherwise empty."""


def cache(build: Callable[[], T]) -> Callable[[], T]:
    """Return ``build`` with a cache like that of ``functools.cache``, but with one value per execution environment.

    ``build`` has no parameters. It runs once per execution environment, also when threads call it at the same time.
    """
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
