"""The errors of answers with the status of an error, and of RUN_ERROR events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from baton_client.conditions import BY_CODE
from baton_client.errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    FieldProblem,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)
from baton_client.retries import STATUSES

_BY_STATUS: Mapping[int, type[APIStatusError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: ServerError,  # of a gateway, which the same request may avoid
    409: ConflictError,
    412: ConflictError,
    429: RateLimitError,
}


def error_of(problem: Mapping[str, Any], *, status: int, retry_after: float | None = None) -> APIStatusError:
    """Return the error of an answer with ``status`` whose body is ``problem`` (RFC 9457, or anything)."""
    code = _read_text(problem.get("code")) or f"http_{status}"
    errors = problem.get("errors")
    return _find_class(code, status)(
        _read_text(problem.get("detail")) or f"The server answered {status}.",
        code=code,
        status=status,
        retryable=bool(problem.get("retryable", status in STATUSES)),
        title=_read_text(problem.get("title")),
        request_id=_read_text(problem.get("requestId")) or None,
        problems=[_read_field_problem(error) for error in errors if isinstance(error, Mapping)]
        if isinstance(errors, list)
        else (),
        retry_after=retry_after,
        resets_at=_read_time(problem.get("resetsAt")),
        can_continue=problem.get("canContinue") is True,
    )


def error_of_run(message: str, code: str | None, metadata: Mapping[str, Any]) -> APIStatusError:
    """Return the error of a RUN_ERROR event."""
    error_code = code or "internal_error"
    seq, wait = metadata.get("seq"), metadata.get("retryAfter")
    return _find_class(error_code, None)(
        message,
        code=error_code,
        retryable=bool(metadata.get("retryable", False)),
        request_id=_read_text(metadata.get("requestId")) or None,
        run_id=_read_text(metadata.get("runId")) or None,
        seq=seq if isinstance(seq, int) else None,
        retry_after=float(wait) if isinstance(wait, int | float) else None,
        resets_at=_read_time(metadata.get("resetsAt")),
        can_continue=metadata.get("canContinue") is True,
    )


def _find_class(code: str, status: int | None) -> type[APIStatusError]:
    if code in BY_CODE:
        return BY_CODE[code]
    if status is None or status >= 500:
        return ServerError
    return _BY_STATUS.get(status, BadRequestError)


def _read_field_problem(entry: Mapping[str, Any]) -> FieldProblem:
    line = entry.get("line")
    return FieldProblem(
        _read_text(entry.get("field")), _read_text(entry.get("message")), line if isinstance(line, int) else None
    )


def _read_time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(_read_text(value))
    except ValueError:
        return None


def _read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""
