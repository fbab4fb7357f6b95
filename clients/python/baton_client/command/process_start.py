"""The start of this process, with which the durations that a command prints begin."""

from __future__ import annotations

import time

_STARTED = time.monotonic()


def count_seconds_since_start() -> float:
    """Return the seconds since the command was started, to about 0.01: this module is the first that it loads."""
    return time.monotonic() - _STARTED
