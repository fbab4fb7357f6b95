"""Rules for sending a request again, and the pauses before."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping

FIRST_SECONDS = 0.5
"""The longest wait before the first repetition; it doubles with each one."""
MOST_SECONDS = 8.0
"""The longest wait before any repetition, without a server's advice."""
LONGEST_ADVICE = 60.0
"""The longest ``Retry-After`` in seconds that is waited for. Beyond it the request is not repeated."""
STATUSES = frozenset({408, 429, 502, 503, 504})
"""Statuses after which a repeatable request is sent again: temporary failures of gateways or of Baton's store."""


def choose_wait_seconds(attempt: int, advised: float | None = None) -> float:
    """Return the seconds to wait after failed attempt number ``attempt`` (from 1).

    A server's advice comes first. Otherwise it is a random time below a limit that doubles ("full jitter", AWS
    Architecture Blog, "Exponential Backoff And Jitter"), so that clients of a server that was down do not return
    together.
    """
    if advised is not None:
        return advised + random.uniform(0, FIRST_SECONDS)  # noqa: S311  no secret
    return random.uniform(0, min(MOST_SECONDS, FIRST_SECONDS * 2 ** (attempt - 1)))  # noqa: S311  no secret


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which has seconds or a date; ``None`` without a usable one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
