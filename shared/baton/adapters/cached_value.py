"""A cache for one remote value that rarely changes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

Parsed = TypeVar("Parsed")


class ParsedText(Generic[Parsed]):
    """The value of the latest text."""

    def __init__(self, parse: Callable[[str], Parsed]) -> None:
        self._parse = parse
        self._latest: tuple[str, Parsed] | None = None

    def of(self, text: str) -> Parsed:
        """Return the value of ``text``. Raises what ``parse`` raises, each time until the text has changed."""
        if self._latest is None or self._latest[0] != text:
            self._latest = (text, self._parse(text))
        return self._latest[1]


LIFESPAN = 300.0
COOLDOWN = 30.0
RETRY_AFTER = 5.0
GRACE = 3600.0

T = TypeVar("T")
_log = logging.getLogger(__name__)


class CachedValue(Generic[T]):
    """The result of ``read``, cached for all threads of this process. Only one thread reads at a time.

    A value is used for 300 s (``LIFESPAN``). Requests for a newer one call ``read`` at most every 30 s (``COOLDOWN``),
    and at most every 5 s (``RETRY_AFTER``) while it fails. During an outage the last value is used until it is an hour
    old (``GRACE``). After that, or without a value, the failure is raised.
    """

    def __init__(self, read: Callable[[], T], *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._value: tuple[T, float] | None = None
        self._failure: tuple[BatonError, float] | None = None

    def get(self) -> T:
        """Return the value, at most 300 s old unless there is an outage."""
        return self._younger_than(LIFESPAN)

    def renewed(self) -> T:
        """Return the value, at most 30 s old unless there is an outage."""
        return self._younger_than(COOLDOWN)

    def _younger_than(self, seconds: float) -> T:
        with self._lock:
            now = self._monotonic()
            if self._value is not None and now - self._value[1] < seconds:
                return self._value[0]
            if self._failure is None or now - self._failure[1] >= RETRY_AFTER:
                try:
                    self._value = (self._read(), now)
                    self._failure = None
                    return self._value[0]
                except BatonError as error:
                    # Counted from the end of the attempt, so that a slow failure is not repeated at once.
                    self._failure = (error, self._monotonic())
            if self._value is not None and now - self._value[1] < GRACE:
                _log.warning("Going on with a value read %d s ago: %s", now - self._value[1], self._failure[0])
                count(Metric.KEYS_UNREADABLE)
                return self._value[0]
            failure = self._failure[0]
            raise type(failure)(failure.detail)
