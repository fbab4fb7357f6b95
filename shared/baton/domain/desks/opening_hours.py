"""The opening hours of a desk, in a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from baton.domain.definition import Definition
from baton.domain.times import is_time_zone

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLOSED = "closed"
MAX_EXCEPTIONS = 200
"""Days with separate hours."""
HORIZON = 400
"""Days for which the next opening is searched: a desk may be closed for a whole year."""

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))")
_EXAMPLE = 'such as "09:00-17:00", "09:00-12:00, 13:00-17:00" or "closed"'


class OpeningHours(Definition):
    """The hours in which the people of a desk answer. A span such as ``22:00-06:00`` ends on the next day."""

    zone: str
    """The IANA name of the time zone of the hours."""
    week: dict[str, str]
    """The hours by days, as in ``mon-fri: "09:00-17:00"``. The desk is closed on days without an entry."""
    exceptions: dict[date, str] = Field(default_factory=dict, max_length=MAX_EXCEPTIONS)
    """Hours of single days, in place of the week's. Files call the field ``except``."""

    @model_validator(mode="before")
    @classmethod
    def _read_name_in_files(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or "except" not in values:
            return values
        if "exceptions" in values:
            raise ValueError("give `except` once")
        return {"exceptions" if name == "except" else name: value for name, value in values.items()}

    @field_validator("zone")
    @classmethod
    def _zone_exists(cls, zone: str) -> str:
        if not is_time_zone(zone):
            raise ValueError(f"there is no time zone {zone!r}; use a name such as Europe/Vienna")
        return zone

    @field_validator("week")
    @classmethod
    def _days_are_named_once(cls, week: dict[str, str]) -> dict[str, str]:
        all_days = [day for days in week for day in _parse_days(days)]
        repeated_days = sorted({day for day in all_days if all_days.count(day) > 1}, key=DAYS.index)
        if repeated_days:
            raise ValueError(f"two entries have hours for {', '.join(repeated_days)}")
        for hours in week.values():
            _parse_spans(hours)
        return week

    @field_validator("exceptions")
    @classmethod
    def _hours_are_readable(cls, exceptions: dict[date, str]) -> dict[date, str]:
        for hours in exceptions.values():
            _parse_spans(hours)
        return exceptions

    def is_open(self, now: datetime) -> bool:
        """Return whether the desk is open at ``now``."""
        return any(start <= now < end for start, end in self._list_spans_around(now))

    def find_next_opening(self, now: datetime) -> datetime | None:
        """Return the start of the next span after ``now``; None if none begins within ``HORIZON`` days."""
        first = now.astimezone(ZoneInfo(self.zone)).date()
        for offset in range(HORIZON):
            for start, _ in self._list_spans_of_day(first + timedelta(days=offset)):
                if start > now:
                    return start
        return None

    def find_next_closing(self, now: datetime) -> datetime | None:
        """Return the time at which the desk, which is open at ``now``, closes; None if it is closed now.

        Spans that follow one another without a gap count as one. After ``HORIZON`` of them, the desk counts as never
        closing, and None is returned.
        """
        end = max((end for start, end in self._list_spans_around(now) if start <= now < end), default=None)
        for _ in range(HORIZON):
            if end is None:
                return None
            later = max((stop for start, stop in self._list_spans_around(end) if start <= end < stop), default=None)
            if later is None:
                return end
            end = later
        return None

    def _list_spans_around(self, moment: datetime) -> list[tuple[datetime, datetime]]:
        """Return the spans of the day of ``moment`` and of the previous day, whose last span may reach into it."""
        day = moment.astimezone(ZoneInfo(self.zone)).date()
        return [*self._list_spans_of_day(day - timedelta(days=1)), *self._list_spans_of_day(day)]

    def _list_spans_of_day(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        """Yield the spans that begin on a day, in UTC and in order."""
        hours = self.exceptions.get(day)
        if hours is None:
            hours = next(
                (hours for days, hours in self.week.items() if DAYS[day.weekday()] in _parse_days(days)), CLOSED
            )
        zone = ZoneInfo(self.zone)
        for start, end in _parse_spans(hours):
            ends_on = day if end is not None and end > start else day + timedelta(days=1)
            opens_at = datetime.combine(day, start, zone).astimezone(UTC)
            closes_at = datetime.combine(ends_on, end or time(), zone).astimezone(UTC)
            if opens_at < closes_at:  # a change of clocks may leave the whole span out
                yield opens_at, closes_at


def _parse_days(days: str) -> tuple[str, ...]:
    """Return the days of ``mon``, ``mon-fri`` or ``sat, sun``. Raises ``ValueError``."""
    named: list[str] = []
    for part in days.lower().split(","):
        first, _, last = (piece.strip() for piece in part.partition("-"))
        last = last or first
        if first not in DAYS or last not in DAYS:
            raise ValueError(f"{days!r} names no days; write mon, mon-fri or sat, sun with {', '.join(DAYS)}")
        start, end = DAYS.index(first), DAYS.index(last)
        count = (end - start) % len(DAYS) + 1
        named += [DAYS[(start + offset) % len(DAYS)] for offset in range(count)]
    return tuple(named)


def _parse_spans(hours: str) -> list[tuple[time, time | None]]:
    """Return the spans of a day in order; None is the end of the day. Raises ``ValueError``."""
    if hours.strip().lower() == CLOSED:
        return []
    spans: list[tuple[time, time | None]] = []
    for part in hours.split(","):
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{hours!r} are not opening hours; write them {_EXAMPLE}")
        end = None if match[5] else time(int(match[3]), int(match[4]))
        spans.append((time(int(match[1]), int(match[2])), end))
    return sorted(spans, key=lambda span: span[0])
