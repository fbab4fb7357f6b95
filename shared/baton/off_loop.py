"""The one door for work that takes long because its input is large: off the event loop, where others wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LARGE = 64 * 1024
"""Bytes, characters or values from which on work is given to a thread, which costs a tenth of a millisecond."""

_threads = ThreadPoolExecutor(4, thread_name_prefix="work")
"""Threads of its own: whatever hangs elsewhere, this goes on."""


async def off_loop(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` returns: done in a thread if its input, of ``size``, is large, else at once.

    It helps for work in Python, which gives way every few milliseconds, and for zlib, hashing and tiktoken, which let
    others go on meanwhile. It does not help for what holds the interpreter's lock until it is done, such as parsing
    JSON: that must be limited by ``domain.json_values`` or by its bytes instead. Cancelling the caller does not stop
    the thread.
    """
    if size < LARGE:
        return work(*args, **kwargs)
    in_context = partial(copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_threads, in_context)
