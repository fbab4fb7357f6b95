"""The traces that a failure leaves, and work that continues without its caller and reports its own."""

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
    """The end of work that is refused, or is to be done again, for the reason in the message. It is no fault."""


class NotYet(ExpectedFailure):
    """A record of a queue must be delivered again later. The message is for the log."""

    def __init__(self, reason: str, seconds: int | None = None) -> None:
        """``seconds``: the time until then; None for the usual pause."""
        super().__init__(reason)
        self.seconds = seconds


def report_failure(failure: BaseException, message: str, **about: Any) -> None:
    """Log that work has failed: a warning with the code if the failure is an expected one, else an error.

    An error has the stack trace, and is counted as an internal fault. The runbook explains ``message``. ``about`` are
    ids of the work, and no content.
    """
    if _is_expected(failure):
        cause = failure.__cause__
        logger.warning(
            message,
            code=getattr(failure, "code", None),
            # The words of a ``BatonError`` are for its caller, and may quote what the caller has sent.
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
    if not task.cancelled() and (failure := task.exception()) is not None:
        report_failure(failure, "background work failed", work=name)
