"""Execution environments, and objects that are built once in each of them.

In Lambda a process is one execution environment. The local cloud runs all functions in one process, but each function
has its own clients, settings and caches, as when it is deployed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import update_wrapper
from typing import Generic, TypeVar

T = TypeVar("T")

current: ContextVar[str] = ContextVar("execution_environment", default="")
"""The name of the running function if the process runs several functions, otherwise empty."""


class OncePerEnvironment(Generic[T]):
    """A function without parameters that runs once per execution environment, even if several threads call it."""

    def __init__(self, build: Callable[[], T]) -> None:
        update_wrapper(self, build)
        self._build = build
        self._built: dict[str, T] = {}
        self._lock = threading.RLock()

    def __call__(self) -> T:
        name = current.get()
        if name not in self._built:
            with self._lock:
                if name not in self._built:
                    self._built[name] = self._build()
        return self._built[name]

    def list_built(self) -> list[T]:
        """Return the values of all execution environments in this process."""
        return list(self._built.values())


def cache(build: Callable[[], T]) -> OncePerEnvironment[T]:
    """Return ``build`` with a cache like that of ``functools.cache``, but with one value per execution environment."""
    return OncePerEnvironment(build)
