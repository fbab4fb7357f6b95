"""Work that continues without its caller. It is kept until it ends, and its failure is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

T = TypeVar("T")

logger = Logger(child=True)

_working: set[asyncio.Task[Any]] = set()
"""A task without a reference may be garbage-collected."""


def in_background(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Begin ``work``, which continues if its caller ends, and return its task. No caller has to await it.

    Its failure is logged under ``name``. A failure that is not a ``BatonError`` is counted as an internal fault.
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
    if isinstance(failure, BatonError):
        logger.warning("background work ended", work=name, reason=failure.code)
    else:
        logger.error("background work failed", work=name, exc_info=failure)
        count(Metric.INTERNAL_FAULTS)
