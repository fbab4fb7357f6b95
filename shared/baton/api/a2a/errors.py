"""Errors of A2A: which of its codes each of Baton's errors has."""

from __future__ import annotations

from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
)

from baton.domain.errors import BatonError, UnsupportedPart


def a2a_error(error: BatonError) -> A2AError:
    """Return the error for a refused request. ``data`` has Baton's own stable code."""
    data = {"code": error.code, "retryable": error.retryable}
    if error.status >= 500:
        return InternalError(error.detail, data)
    if isinstance(error, UnsupportedPart):
        return ContentTypeNotSupportedError(error.detail, data)
    return InvalidParamsError(error.detail, data)
