"""Give each log line the keys of the right invocation, although all functions share one Powertools logger here.

In Lambda the logger's keys (the function's name, the request, appended keys) are those of the current invocation. Here
they would be those of the invocation that set them last.

Developers get readable lines. ``BATON_LOCAL_LOGS=json`` keeps the lines of a deployment.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

Keys = dict[str, Any]

NOT_SHOWN = frozenset(
    {
        *("timestamp", "level", "message", "exception", "exception_name", "stack_trace", "location", "service"),
        *("function_name", "function_memory_size", "function_arn", "function_request_id", "cold_start"),
        *("xray_trace_id", "sampling_rate"),
    }
)
"""Keys that are not in the list of a readable line: it leaves them out, or has them at its beginning or end."""

NO_SERVICE = "service_undefined"
"""Powertools' name of the service in lines outside functions."""

MOST_FAILURES = 5
"""The most failures of tools that are kept."""

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

    is_readable: ClassVar[bool] = False
    """Whether lines are for people, instead of Lambda's JSON."""
    _common: Keys

    def __init__(self, before: LambdaPowertoolsFormatter) -> None:
        """Take the order of ``before``, its form of times, and its keys for lines outside invocations."""
        super().__init__(
            log_record_order=before.log_record_order, use_rfc3339=before.use_rfc3339_iso8601, **before.keys_combined
        )

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for a record, for people or as in Lambda."""
        line = super().format(record)
        return format_readable(json.loads(line)) if self.is_readable else line

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
def readable_lines(*, are_wanted: bool) -> Iterator[None]:
    """Write lines for people during the block, if they ``are_wanted``."""
    before = InvocationFormatter.is_readable
    InvocationFormatter.is_readable = are_wanted
    try:
        yield
    finally:
        InvocationFormatter.is_readable = before


@contextmanager
def warnings_for_people() -> Iterator[None]:
    """Write warnings and errors on stderr, for people, during the block. Commands use stdout for their results."""
    Logger(use_rfc3339=True)  # the parent of all loggers, whose handler writes
    handlers = [handler for handler in _find_handlers() if isinstance(handler, logging.StreamHandler)]
    before = [(handler, handler.formatter, handler.level, handler.stream) for handler in handlers]
    with readable_lines(are_wanted=True):
        for handler in handlers:
            if type(handler.formatter) is LambdaPowertoolsFormatter:
                handler.setFormatter(InvocationFormatter(handler.formatter))
            handler.setLevel(logging.WARNING)
            handler.stream = sys.stderr  # not by ``setStream``, which flushes the old stream, which may be closed
        try:
            yield
        finally:
            for handler, formatter, level, stream in before:
                handler.setFormatter(formatter)
                handler.setLevel(level)
                handler.stream = stream


def format_readable(line: Keys) -> str:
    """Return the keys of a log line as text for people.

    The order is: time, level, function, message, other keys, traceback.
    """
    time = str(line.get("timestamp", ""))[11:19]
    named = str(line.get("function_name") or line.get("service") or "")
    function = "" if named == NO_SERVICE else named.removesuffix("Function").lower()
    head = " ".join(filter(None, [time, str(line.get("level", "")), f"{function}:" if function else ""]))
    keys = [
        f"{name}={_format_value(value)}" for name, value in line.items() if name not in NOT_SHOWN and value is not None
    ]
    text = f"{head} {_format_value(line.get('message'))}"
    if keys:
        text += f"  [{', '.join(keys)}]"
    trace = str(line.get("exception") or "").rstrip()
    return f"{text}\n{trace}" if trace else text


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@contextmanager
def of(invocation: Invocation) -> Iterator[None]:
    """Give lines logged in the block the invocation's keys, including those of its tasks and threads."""
    common: Keys = {}
    for handler in _find_handlers():
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


class ToolFailures(logging.Handler):
    """The newest failures of tools in the log, for the page beside a conversation."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failures: list[dict[str, str]] = []
        """The newest first: the time ``at`` and the ``text``, which begins with the line of the tool's own code."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of a failure. Other records of the toolbox are about definitions."""
        if str(record.msg).startswith("Tool %s"):
            at = datetime.fromtimestamp(record.created, UTC).isoformat()
            self.failures.insert(0, {"at": at, "text": record.getMessage()})
            del self.failures[MOST_FAILURES:]


@contextmanager
def kept_tool_failures() -> Iterator[list[dict[str, str]]]:
    """Keep the failures of tools during the block. The list changes with them."""
    handler, log = ToolFailures(), logging.getLogger("baton.adapters.tools.toolbox")
    log.addHandler(handler)
    try:
        yield handler.failures
    finally:
        log.removeHandler(handler)


def _find_handlers() -> list[logging.Handler]:
    """Return the handlers that Powertools has made for loggers."""
    # ``vars`` is fast, which counts because every invocation calls this, and there are hundreds of loggers.
    handlers = [vars(logger).get("powertools_handler") for logger in list(logging.Logger.manager.loggerDict.values())]
    return [handler for handler in handlers if isinstance(handler, logging.Handler)]
