"""Log lines that say whose they are, though all functions share one process here, and so one Powertools logger.

In Lambda the logger's keys (the function's name, the request, what a handler appends) are those of the one invocation
under way. Here they would be those of whoever set them last.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

Keys = dict[str, Any]

_keys: ContextVar[Keys | None] = ContextVar("keys of the log lines of an invocation", default=None)
"""Tasks and threads that an invocation starts have its context, and so its keys."""


class Invocation(Protocol):
    """What a Lambda context says of an invocation."""

    function_name: str
    memory_limit_in_mb: int
    aws_request_id: str

    @property
    def invoked_function_arn(self) -> str: ...


class InvocationFormatter(LambdaPowertoolsFormatter):
    """Powertools' formatter with keys for each invocation in place of one set for the process."""

    _common: Keys

    def __init__(self, before: LambdaPowertoolsFormatter) -> None:
        """Lines outside invocations have the keys that ``before`` was made with."""
        super().__init__(log_record_order=before.log_record_order, **before.keys_combined)

    @property
    def log_format(self) -> Keys:
        """The keys of the invocation under way."""
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
    """Have the lines logged meanwhile bear the invocation's keys, also those of tasks and threads that it starts."""
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
