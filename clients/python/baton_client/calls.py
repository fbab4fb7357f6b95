"""Calls of functions of this program, which may be asynchronous in an asynchronous client."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TypeVar

from baton_client.errors import ConfigurationError

T = TypeVar("T")


async def awaited(value: T | Awaitable[T]) -> T:
    """Return what a function has returned, or what its coroutine returns."""
    return await value if inspect.isawaitable(value) else value


def unawaited(value: T | Awaitable[T]) -> T:
    """Return what a function has returned. Raises ``ConfigurationError`` if that is a coroutine: nothing awaits it."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise ConfigurationError("Functions given to Baton are not asynchronous. Use AsyncBaton for those that are.")
    return value
