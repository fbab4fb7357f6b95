"""Waiting for work that the server does behind its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from baton_client.errors import APITimeoutError

FIRST_SECONDS = 0.2
"""The first pause between two reads."""
MOST_SECONDS = 5.0
"""The longest pause between two reads."""
GROWTH = 1.5
"""The factor between two successive pauses."""


async def wait_until(read: Callable[[], Any], is_done: Callable[[Any], bool], timeout: float, what: str) -> Any:
    """Read a value again and again, and return the first one that ``is_done``.

    Raises ``APITimeoutError`` after ``timeout`` seconds; its message names the value by ``what``.
    """
    ends_at = time.monotonic() + timeout
    pause = FIRST_SECONDS
    while True:
        value = await read()
        if is_done(value):
            return value
        seconds = ends_at - time.monotonic()
        if seconds <= 0:
            raise APITimeoutError(f"The {what} was not ready after {timeout:g} s. The server still works on it.")
        await asyncio.sleep(min(pause, seconds))
        pause = min(MOST_SECONDS, GROWTH * pause)
