"""Calls of functions of this program, which may be asynchronous in an asynchronous client."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

from baton_client.errors import ConfigurationError

T = TypeVar("T")


async def await_result(value: T | Awaitable[T]) -> T:
    """Return the result of a function, after awaiting it if it is a coroutine."""
    return await value if inspect.isawaitable(value) else value


def require_result(value: T | Awaitable[T]) -> T:
    """Return the result of a function. Raises ``ConfigurationError`` for a coroutine, which nothing awaits."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise ConfigurationError("Functions given to Baton are not asynchronous. Use AsyncBaton for those that are.")
    return value


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that waits for a disk, beside the event loop."""
    return await asyncio.to_thread(function, *arguments)


def call_directly(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in this thread: the synchronous form of ``in_thread``."""
    return function(*arguments)
