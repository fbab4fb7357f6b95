"""Read the failures of the OpenAI package as ``ProviderFailure``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2 as httpx
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAIError

from baton.adapters.models.failures.failure import MAX_TEXT, FailureKind, ProviderFailure, read_retry_after

Failure = OpenAIError | TimeoutError | ValueError | RecursionError
"""The exceptions of a request: the SDK's errors, a timeout, invalid JSON or UTF-8, JSON that is nested too deeply."""

IN_STREAM = "error in the stream"
"""The name in the log of a failure that an endpoint sends inside a stream."""
_STATUSES = {"server_error": 500, "rate_limit_exceeded": 429, "insufficient_quota": 429}
"""Codes of errors in a stream, and the HTTP statuses that they would have had before it."""
_REFUSED = ("invalid", "image", "unsupported", "context_length", "policy", "data_residency", "filter")
"""Words of codes that refuse the request."""


def make_provider_failure(error: Failure) -> ProviderFailure:
    """Return the failure that an exception of the package means."""
    name = type(error).__name__
    if error.__cause__ is not None:
        name = f"{name} ({type(error.__cause__).__name__})"
    if isinstance(error, TimeoutError | APITimeoutError):
        return ProviderFailure(name, FailureKind.TIMEOUT, text=_with_address(error))
    if isinstance(error.__cause__, httpx.DecodingError):
        return ProviderFailure(name, FailureKind.PROTOCOL, text=str(error.__cause__))
    if isinstance(error, APIConnectionError):
        return ProviderFailure(name, FailureKind.CONNECTION, text=_with_address(error))
    if not isinstance(error, APIError):
        return ProviderFailure(name, FailureKind.PROTOCOL, text=str(error)[:MAX_TEXT])
    failure = ProviderFailure.of(error.body, name)
    if len(failure.text) <= 2:
        failure.text = error.message[:MAX_TEXT]
    if isinstance(error, APIStatusError):
        failure.status = error.status_code
        failure.request_id = error.request_id
        retry_after = read_retry_after(error.response.headers)
        failure.retry_after = retry_after if retry_after is not None else failure.retry_after
        failure.is_final = error.response.headers.get("x-should-retry") == "false"
        if error.response.has_redirect_location:
            failure.text = describe_redirect(error.response.headers["location"])
    return failure


def _with_address(error: TimeoutError | APIConnectionError) -> str:
    """Return the text of a time-out or failed connection, with the address of the server if it is known.

    The address is without path, user's name and password.
    """
    if not isinstance(error, APIConnectionError):
        return str(error)
    url = error.request.url
    return f"{error} ({url.copy_with(userinfo=b'', path='/', query=None)})"


def describe_redirect(location: str) -> str:
    """Return the target of an endpoint's redirect, without secrets in the address, and what operators can do."""
    scheme, _, rest = location[:MAX_TEXT].partition("//")
    address = f"{scheme}//{re.split('[?#]', rest.rpartition('@')[2])[0]}" if rest else re.split("[?#]", location)[0]
    return f"The endpoint redirects to {address}, which is not followed: set the address of the endpoint itself."


def read_streamed_failure(error_body: Mapping[str, Any]) -> ProviderFailure:
    """Return the failure of an error event, or of a response's ``error``."""
    body = {name: value for name, value in error_body.items() if (name, value) != ("type", "error")}
    return add_status(ProviderFailure.of(body, IN_STREAM))


def add_status(failure: ProviderFailure) -> ProviderFailure:
    """Set the status of an error in a stream by its code, if it has none. Return the failure."""
    if failure.kind is FailureKind.ANSWER and failure.status is None:
        code = failure.code.lower()
        failure.status = _STATUSES.get(code) or (400 if any(word in code for word in _REFUSED) else None)
    return failure
