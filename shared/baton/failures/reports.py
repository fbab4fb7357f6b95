"""Reports of failures, and background work whose failures are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

logger = Logger(child=True)


class ExpectedFailure(Exception):
    """The end of work that is refused or must be repeated, for the reason in the message. It is no fault of Baton."""


class NotYet(ExpectedFailure):
    """A record of a queue must be delivered again later. The message is for the log."""

    def __init__(self, reason: str, seconds: int | None = None) -> None:
        """``seconds`` is the time until the next delivery; None for the usual pause."""
        super().__init__(reason)
        self.seconds = seconds


def report_failure(failure: BaseException, message: str, **about: Any) -> None:
    """Log that work has failed: an expected failure as a warning with its code, any other as an error.

    An error is logged with its stack trace, and counted as an internal fault. The runbook explains each ``message``.
    ``about`` has ids of the work, but no content.
    """
    if _is_expected(failure):
        cause = failure.__cause__
        logger.warning(
            message,
            code=getattr(failure, "code", None),
            # The message of a ``BatonError`` is not logged, because it may quote the caller's data.
            reason=str(failure) if isinstance(failure, ExpectedFailure) else None,
            cause=type(cause).__name__ if cause is not None else None,
            **about,
        )
        return
    logger.error(message, exc_info=failure, **about)
    count(Metric.INTERNAL_FAULTS)


def _is_expected(failure: BaseException) -> bool:
    if isinstance(failure, BaseExceptionGroup) and not isinstance(failure, ExpectedFailure):
        return all(map(_is_expected, failure.exceptions))
    return isinstance(failure, BatonError | ExpectedFailure)


T = TypeVar("T")

_working: set[asyncio.Task[Any]] = set()
"""Unfinished tasks, which could be garbage-collected without a reference."""


def in_background(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Begin ``work`` as a task that continues after its caller has ended, and return the task.

    Nobody has to await the task. Its failure is reported with ``name``.
    """
    task = asyncio.ensure_future(work)
    _working.add(task)
    task.add_done_callback(partial(_log_failure, name))
    return task


def _log_failure(name: str, task: asyncio.Task[Any]) -> None:
    _working.discard(task)
    if not task.cancelled() and (failure := task.exception()) is not None:
        report_failure(failure, "background work failed", work=name)
