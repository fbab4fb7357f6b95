"""Waiting for several steps at once without leaving one behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_all(*steps: Awaitable[Any]) -> list[Any]:
    """Return the results of all steps, or raise the first failure, but only once every step has ended.

    ``asyncio.gather`` raises at once, and what is still being read or written then goes on behind its caller's back.
    """
    results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


async def each_until(
    deadline: float, items: AsyncIterable[T], deal_with: Callable[[T], Awaitable[None]], *, at_once: int
) -> bool:
    """Deal with items, at most ``at_once`` at the same time, and return whether all were begun by the ``deadline``.

    The deadline is a time of the event loop. What has begun by then is waited for, also if reading the items fails.
    ``deal_with`` must not raise.
    """
    loop = asyncio.get_running_loop()
    slots = asyncio.Semaphore(at_once)
    working: set[asyncio.Future[None]] = set()

    def ended(task: asyncio.Future[None]) -> None:
        working.discard(task)
        slots.release()

    try:
        async for item in items:
            await slots.acquire()
            if loop.time() >= deadline:
                return False
            task = asyncio.ensure_future(deal_with(item))
            working.add(task)
            task.add_done_callback(ended)
    finally:
        if working:
            await asyncio.wait(working)
    return True
