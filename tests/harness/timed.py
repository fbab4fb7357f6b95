"""Coroutines in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.faults.schedules.processes import ProcessLoop


def in_virtual_time(work: Callable[[], Awaitable[None]]) -> None:
    """Run ``work`` on a clock that only passes when nothing else can happen."""
    loop = ProcessLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(work(), 10_000))
    finally:
        loop.close()
