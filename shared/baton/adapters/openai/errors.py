"""Map failures of a model endpoint to ``ModelError``."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from openai import APIError, APIStatusError, OpenAIError

from baton.domain.errors import (
    ContentFiltered,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)

Failure = OpenAIError | TimeoutError | ValueError | ModelError
"""The exceptions of a request: the SDK's errors, a timeout, invalid JSON or UTF-8, and errors raised here."""

_FILTER_CODES = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
_REFUSAL_TYPES = {"invalid_request_error", "authentication_error", "permission_error", "not_found_error"}


def model_error(failure: Failure) -> ModelError:
    """Return the ``ModelError`` for ``failure``. It contains no text of the provider."""
    if isinstance(failure, ModelError):
        return failure
    if isinstance(failure, TimeoutError):
        return ModelTimeout()
    if isinstance(failure, APIError):
        if _is_content_filter(failure):
            return ContentFiltered()
        status = _status(failure)
        if status is not None:
            return _from_status(status)
        return _from_names(failure)
    return ModelUnavailable()


def is_worth_repeating(failure: Failure) -> bool:
    """Return whether a retry may succeed. After a timeout or with an empty account it cannot."""
    if isinstance(failure, TimeoutError):
        return False
    if isinstance(failure, APIError):
        if failure.code == "insufficient_quota":
            return False
        if isinstance(failure, APIStatusError) and failure.response.headers.get("x-should-retry") == "false":
            return False
    return isinstance(model_error(failure), ModelRateLimited | ModelUnavailable | ModelTimeout)


def retry_after(failure: Failure) -> float | None:
    """Return the seconds of ``Retry-After`` (RFC 9110 10.2.3) or ``retry-after-ms``; None without them."""
    if not isinstance(failure, APIStatusError):
        return None
    headers = failure.response.headers
    seconds = _number(headers.get("retry-after-ms"))
    if seconds is not None:
        return seconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    try:
        until = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def describe(failure: Failure, secret: str) -> dict[str, object]:
    """Return the log fields of ``failure``, without ``secret``."""
    described: dict[str, object] = {"failure": type(failure).__name__}
    if isinstance(failure, APIError):
        described |= {"provider_code": failure.code, "provider_type": failure.type}
    if isinstance(failure, APIStatusError):
        described |= {"http_status": failure.status_code, "provider_request_id": failure.request_id}
    if failure.__cause__ is not None:
        described["cause"] = type(failure.__cause__).__name__
    text = str(failure)[:500]
    described["text"] = text.replace(secret, "***") if secret else text
    return described


def _is_content_filter(error: APIError) -> bool:
    names: list[object] = [error.code, error.type]
    if isinstance(error.body, dict):
        inner = error.body.get("innererror")
        names.append(inner.get("code") if isinstance(inner, dict) else None)
    return any(isinstance(name, str) and name.lower() in _FILTER_CODES for name in names)


def _status(error: APIError) -> int | None:
    if isinstance(error, APIStatusError):
        return error.status_code
    # Gateways put the upstream's HTTP status into an error object inside a stream with status 200.
    return int(error.code) if error.code is not None and error.code.isdecimal() and len(error.code) == 3 else None


def _from_status(status: int) -> ModelError:
    if status == 429:
        return ModelRateLimited()
    if status == 408:
        return ModelTimeout()
    return ModelRefused() if 400 <= status < 500 else ModelUnavailable()


def _from_names(error: APIError) -> ModelError:
    names = [name.lower() for name in (error.code, error.type) if isinstance(name, str)]
    if any("rate_limit" in name or "quota" in name for name in names):
        return ModelRateLimited()
    if any("timeout" in name for name in names):
        return ModelTimeout()
    if any(name in _REFUSAL_TYPES for name in names):
        return ModelRefused()
    return ModelUnavailable()


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
