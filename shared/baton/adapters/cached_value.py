"""Caches for one remote value that rarely changes."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from baton.domain.errors import BatonError, InternalError
from baton.domain.metrics import Metric, count

Parsed = TypeVar("Parsed")


class ParsedText(Generic[Parsed]):
    """The parsed value of a text, which is parsed again only if the text has changed."""

    def __init__(self, parse_text: Callable[[str], Parsed]) -> None:
        self._parse_text = parse_text
        self._latest: tuple[str, Parsed] | None = None

    def parse(self, text: str) -> Parsed:
        """Return the value of ``text``. Raises the errors of ``parse_text``."""
        if self._latest is None or self._latest[0] != text:
            self._latest = (text, self._parse_text(text))
        return self._latest[1]


LIFETIME_SECONDS = 300.0
"""Seconds for which a value is used before it is read again."""
RENEWAL_SECONDS = 30.0
"""The minimum seconds between two reads that callers request, and between failed reads in the background."""
RETRY_SECONDS = 5.0
"""The minimum seconds between two reads after a failure for which callers wait."""
OUTAGE_SECONDS = 3600.0
"""The maximum age of a value that is used while reads fail."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class CachedValue(Generic[T]):
    """The result of ``read``, cached for all threads of this process. Only one thread reads at a time.

    A value is used for ``LIFETIME_SECONDS``. ``renew`` calls ``read`` at most every ``RENEWAL_SECONDS``,
    and at most every ``RETRY_SECONDS`` while it fails. During an outage the last value is used until it is
    ``OUTAGE_SECONDS`` old. After that, or without a value, the failure is raised.
    """

    def __init__(self, read: Callable[[], T], *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._value: tuple[T, float] | None = None
        self._failure: tuple[BatonError, float] | None = None

    def get(self) -> T:
        """Return the value, at most ``LIFETIME_SECONDS`` old except in an outage. Raises the failure of ``read``."""
        return self._get_younger_than(LIFETIME_SECONDS)

    def renew(self) -> T:
        """Return the value, at most ``RENEWAL_SECONDS`` old except in an outage. Raises the failure of ``read``."""
        return self._get_younger_than(RENEWAL_SECONDS)

    def _get_younger_than(self, seconds: float) -> T:
        """Return a value younger than ``seconds``, or an older value in an outage. Raises the failure of ``read``."""
        with self._lock:
            now = self._monotonic()
            if self._value is not None and now - self._value[1] < seconds:
                return self._value[0]
            if self._failure is None or now - self._failure[1] >= RETRY_SECONDS:
                try:
                    self._value = (self._read(), now)
                    self._failure = None
                    return self._value[0]
                except BatonError as error:
                    # Counted from the end of the attempt, so that a slow failure is not repeated at once.
                    self._failure = (error, self._monotonic())
            if self._value is not None and now - self._value[1] < OUTAGE_SECONDS:
                logger.warning("Going on with a value read %d s ago: %s", now - self._value[1], self._failure[0])
                count(Metric.KEYS_UNREADABLE)
                return self._value[0]
            failure = self._failure[0]
            raise type(failure)(failure.detail) from failure.__cause__


class RefreshedValue(Generic[T]):
    """The result of ``read``, cached for all threads of this process and read again in the background.

    A copy is used for ``seconds``. The first request after that starts a thread that reads. This request and others
    use the copy until the thread is done. If the process was idle for another ``seconds``, a request waits for the
    read, because the copy may have any age. If a read fails, the copy stays in use, and the next read begins
    ``RENEWAL_SECONDS`` later at the earliest; the failure is logged and counted as one of the settings.

    Without a copy every request waits, and the failure is raised. The next read begins ``RETRY_SECONDS`` later.
    """

    def __init__(
        self,
        read: Callable[[], T],
        *,
        seconds: float = LIFETIME_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """``start`` runs a function in the background; by default in a thread."""
        self._read = read
        self._seconds = seconds
        self._monotonic = monotonic
        self._start = start or (lambda work: threading.Thread(target=work, name="settings", daemon=True).start())
        self._reading = threading.Lock()
        self._copy: tuple[T, float] | None = None
        """The value, and the time (of ``monotonic``) at which it was read."""
        self._tried_at = 0.0
        """The time of the end of the last read."""
        self._failure: BatonError | None = None

    def get(self) -> T:
        """Return the value. Raises the error of the last read, without its detail, until a read has succeeded."""
        if self.must_read():
            with self._reading:
                if self.must_read():  # no other thread has read meanwhile
                    self._try_to_read()
        if self._copy is None:
            assert self._failure is not None  # noqa: S101 - there is no copy because the attempt has failed
            raise type(self._failure)  # without the detail, which is for operators and in the log
        value, read_at = self._copy
        now = self._monotonic()
        # The pause after a failure is at most ``seconds``, so that failed reads are repeated as often as others.
        is_old = now - read_at >= self._seconds and now - self._tried_at >= min(RENEWAL_SECONDS, self._seconds)
        if is_old and self._reading.acquire(blocking=False):
            try:
                self._start(partial(contextvars.copy_context().run, self._refresh))
            except BaseException:
                self._reading.release()
                raise
        return value

    def must_read(self) -> bool:
        """Return whether ``get`` would wait for a read: there is no copy, or the process was idle."""
        since_attempt = self._monotonic() - self._tried_at
        if self._copy is None:
            return self._failure is None or since_attempt >= RETRY_SECONDS
        return since_attempt >= 2 * self._seconds

    def _refresh(self) -> None:
        """Read the value, and release the lock that ``get`` has acquired for this."""
        try:
            self._try_to_read()
        finally:
            self._reading.release()

    def _try_to_read(self) -> None:
        """Read the value, or record and log the failure of the read."""
        try:
            value = self._read()
        except BatonError as error:
            self._failure = error
            if self._copy is not None:
                logger.error("The last good settings stay in use: %s", error.detail)
            else:
                logger.error("There are no settings: %s", error.detail)
            count(Metric.SETTINGS_UNREADABLE)
        except Exception:
            self._failure = InternalError()
            logger.exception("The settings cannot be read")
            count(Metric.SETTINGS_UNREADABLE)
        else:
            self._copy, self._failure = (value, self._monotonic()), None
        # The time of the end, so that a slow failure is not repeated at once.
        self._tried_at = self._monotonic()
