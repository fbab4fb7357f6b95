"""Waiting for several steps at once without leaving one behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def gather_all(*steps: Awaitable[Any]) -> list[Any]:
    """Return the results of all steps, or raise the first failure, but only once every step has ended.

    ``asyncio.gather`` raises at once, and what is still being read or written then goes on behind its caller's back.
    """
    results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
