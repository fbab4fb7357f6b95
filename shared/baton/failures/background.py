"""Work that continues without its caller. It is kept until it ends, and its failure is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from baton.failures.reports import report_failure

T = TypeVar("T")

_working: set[asyncio.Task[Any]] = set()
"""A task without a reference may be garbage-collected."""


def in_background(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Begin ``work``, which continues if its caller ends, and return its task. No caller has to await it.

    Its failure is reported under ``name``.
    """
    task = asyncio.ensure_future(work)
    _working.add(task)
    task.add_done_callback(partial(_log_failure, name))
    return task


def _log_failure(name: str, task: asyncio.Task[Any]) -> None:
    _working.discard(task)
    failure = None if task.cancelled() else task.exception()
    if failure is None:
        return
    report_failure(failure, "background work failed", work=name)
