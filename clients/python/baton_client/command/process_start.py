"""The start of this process. Durations that a command prints are what its user has waited for."""

from __future__ import annotations

import time

_STARTED = time.monotonic()


def seconds_since_start() -> float:
    """Return the seconds since the command was started, to some hundredths: this module is the first that it loads."""
    return time.monotonic() - _STARTED
