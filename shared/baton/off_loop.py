"""Run computations on large inputs in threads, so that they do not block the event loop."""

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
"""Size of the input (bytes, characters or values) from which a thread is used. A thread costs a tenth of a ms."""

_threads = ThreadPoolExecutor(4, thread_name_prefix="work")
"""A separate pool, so that calls that hang in another pool do not block it."""


async def off_loop(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work`` and return its result: in a thread if ``size``, that of its input, is large, otherwise directly.

    This helps for Python code, which releases the interpreter's lock every few milliseconds, and for zlib, hashing and
    tiktoken, which release it while they work. It does not help for code that holds the lock until it is done, such as
    JSON parsing: limit that by ``domain.json_values`` or by bytes instead. Cancelling the caller does not stop the
    thread.
    """
    if size < LARGE:
        return work(*args, **kwargs)
    in_context = partial(copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_threads, in_context)
