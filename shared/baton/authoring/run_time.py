"""The current time for code of a project, which conversation tests can set."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime

from baton.domain.times import convert_to_zone
from baton.ports.clock import SystemClock

_read: ContextVar[Callable[[], datetime]] = ContextVar("time_of_run", default=lambda: SystemClock().now())
_zone: ContextVar[str | None] = ContextVar("zone_of_run", default=None)


def now() -> datetime:
    """Return the current time in the user's time zone, or in UTC if that is not known.

    Use it in all code of a project that works in a run: tools, validators of types, hooks, prompts, and functions that
    these call. ``now().date()`` is the user's day. In a conversation test, ``begins_at`` and ``wait`` set the time.
    Outside a run, it is the machine's time in UTC.

    In an agent's ``run``, use ``RunContext.now``, which returns the same time when ``run`` begins again.
    """
    zone, moment = _zone.get(), _read.get()()
    return convert_to_zone(zone, moment) if zone is not None else moment.astimezone(UTC)


def use_time(read: Callable[[], datetime], zone: str | None) -> None:
    """Set the clock and the user's ``zone`` for ``now``, in the current task and in tasks that it begins."""
    _read.set(read)
    _zone.set(zone)
