"""Errors of this package. ``baton_client.conditions`` has a class for each code of the server's table.

Catch ``ThreadBusyError`` for one code, ``ConflictError`` for a kind of errors, ``APIStatusError`` for every error of
the server, and ``BatonError`` for everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from baton_client.interrupt_answers import Answer


class BatonError(Exception):
    """Base of everything that this package raises."""


class ConfigurationError(BatonError):
    """The client was made, or called, with something that cannot work. The message says what to change."""


class UnexpectedAnswerError(BatonError):
    """The server answered with something that this version of its API does not have.

    The answer may come from another program, from a proxy, or from a release that is much older or newer than the
    client.
    """


class NoStructuredAnswerError(BatonError):
    """A structured answer was asked for, but there is only text, or nothing. The agent needs an ``answer_schema``."""


class AnswerMismatchError(BatonError):
    """A structured answer does not fit the requested type. The message names the first field that does not fit."""


class APIConnectionError(BatonError):
    """The server could not be reached, or the connection ended, also after retries. The cause is ``__cause__``."""


class APITimeoutError(APIConnectionError):
    """The server did not answer in time, also after retries."""


class StreamInterruptedError(APIConnectionError):
    """A run can no longer be followed. It continues without this client; ``baton.runs.follow`` follows it again."""

    def __init__(self, message: str, *, thread_id: str, run_id: str | None, last_seq: int) -> None:
        super().__init__(message)
        self.thread_id = thread_id
        self.run_id = run_id
        self.last_seq = last_seq
        """The number of the last event that was read; 0 if there was none."""
        self.answers: Sequence[Answer] = ()
        """Decisions and results of tools that the server may not have. It is safe to send them again.

        ``client.runs.stream(thread_id=..., answers=...)`` sends them.
        """


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A problem of one field of a request."""

    field: str
    message: str
    line: int | None = None
    """The line of a text that was sent, from 1."""


class APIStatusError(BatonError):
    """The server refused a request, or a run ended with an error."""

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        status: int | None = None,
        retryable: bool = False,
        title: str = "",
        request_id: str | None = None,
        problems: Sequence[FieldProblem] = (),
        retry_after: float | None = None,
        run_id: str | None = None,
        seq: int | None = None,
        resets_at: datetime | None = None,
        can_continue: bool = False,
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.detail = detail
        """The problem, and what the caller can do."""
        self.code = code
        """The server's stable name of the error."""
        self.status = status
        """The HTTP status; ``None`` for an error that came in a stream."""
        self.retryable = retryable
        """Whether the same request may succeed later."""
        self.title = title
        self.request_id = request_id
        """The id of the request in the server's log."""
        self.problems = tuple(problems)
        """The problems of single fields."""
        self.retry_after = retry_after
        """The seconds to wait before the next attempt, if the server named them."""
        self.run_id = run_id
        """The run that ended with this error; None unless it came in a stream."""
        self.seq = seq
        """The number of the event, if the run had begun. Sending the message again then gives the same error."""
        self.resets_at = resets_at
        """The time at which the reached spending limit is reset (``SpendingLimitReachedError``)."""
        self.can_continue = can_continue
        """Whether the user may go on beyond that limit: send the message with ``over_spending=True``.

        If ``seq`` is a number, the message needs another id."""


class BadRequestError(APIStatusError):
    """The request is invalid; repeating it unchanged fails again (400, 405, 410, 413, 415, 422)."""


class AuthenticationError(APIStatusError):
    """The request has no token, or one that the server does not trust (401)."""


class PermissionDeniedError(APIStatusError):
    """The token lacks a permission; ``detail`` names it (403)."""


class NotFoundError(APIStatusError):
    """The named object does not exist, or the caller may not see it (404)."""


class ConflictError(APIStatusError):
    """The request conflicts with something that exists, or has changed meanwhile (409, 412)."""


class RateLimitError(APIStatusError):
    """Too many requests, also after retries (429). ``retry_after`` is the number of seconds to wait."""


class ServerError(APIStatusError):
    """The server, its gateway, the model, or something else behind the server failed, also after retries (408, 5xx)."""
