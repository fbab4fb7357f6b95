"""The traces that a failure leaves: a line in the log, and a count if nobody expected it."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

logger = Logger(child=True)


class ExpectedFailure(Exception):
    """The end of work that is refused, or is to be done again, for the reason in the message. It is no fault."""


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
