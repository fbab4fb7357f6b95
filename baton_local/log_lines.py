"""Give each log line the keys of the right invocation, although all functions share one Powertools logger here.

In Lambda the logger's keys (the function's name, the request, appended keys) are those of the current invocation. Here
they would be those of the invocation that set them last.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

Keys = dict[str, Any]

_keys: ContextVar[Keys | None] = ContextVar("keys of the log lines of an invocation", default=None)
"""The keys of the current invocation. Its tasks and threads inherit the context and so the keys."""


class Invocation(Protocol):
    """The fields of a Lambda context that log lines use."""

    function_name: str
    memory_limit_in_mb: int
    aws_request_id: str

    @property
    def invoked_function_arn(self) -> str: ...


class InvocationFormatter(LambdaPowertoolsFormatter):
    """Powertools' formatter, with separate keys for each invocation."""

    _common: Keys

    def __init__(self, before: LambdaPowertoolsFormatter) -> None:
        """Lines outside invocations have the keys of ``before``."""
        super().__init__(
            log_record_order=before.log_record_order, use_rfc3339=before.use_rfc3339_iso8601, **before.keys_combined
        )

    @property
    def log_format(self) -> Keys:
        """The keys of the current invocation."""
        keys = _keys.get()
        return keys if keys is not None else self._common

    @log_format.setter
    def log_format(self, keys: Keys) -> None:
        if _keys.get() is not None:
            _keys.set(keys)
        else:
            self._common = keys


@contextmanager
def of(invocation: Invocation) -> Iterator[None]:
    """Give lines logged in the block the invocation's keys, including those of its tasks and threads."""
    common: Keys = {}
    for handler in _handlers():
        if type(handler.formatter) is LambdaPowertoolsFormatter:
            handler.setFormatter(InvocationFormatter(handler.formatter))
        if isinstance(handler.formatter, InvocationFormatter):
            common |= handler.formatter._common
    token = _keys.set(
        {
            **common,
            "function_name": invocation.function_name,
            "function_memory_size": invocation.memory_limit_in_mb,
            "function_arn": invocation.invoked_function_arn,
            "function_request_id": invocation.aws_request_id,
        }
    )
    try:
        yield
    finally:
        _keys.reset(token)


def _handlers() -> list[logging.Handler]:
    loggers = [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    found = [getattr(logger, "powertools_handler", None) for logger in loggers]
    return [handler for handler in found if isinstance(handler, logging.Handler)]
