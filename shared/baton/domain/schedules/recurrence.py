"""Times of schedules on the clocks of a time zone: single times, and recurrence rules of RFC 5545.

``dateutil`` implements such rules too, but searches a rule that has no slot until the year 9999, which takes 23 seconds
of CPU. Here the search ends after ``HORIZON``. A test compares both.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import count, takewhile
from typing import Literal, cast

from baton.domain.errors import InvalidRequest
from baton.domain.times import find_rules

MAX_RULE = 200
"""Characters of a rule."""
MAX_COUNT = 10_000
"""The largest ``COUNT``."""
MAX_INTERVAL = 1_000
"""The largest ``INTERVAL``."""
HORIZON = timedelta(days=366 * 10)
"""The time after its start in which a schedule has slots. It bounds the search in rules that have none."""

Frequency = Literal["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"[0-9]{8}(?:T[0-9]{6}Z?)?")
_SUPPORTED = (
    *("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST"),
    *("BYMONTH", "BYMONTHDAY", "BYSETPOS", "BYHOUR", "BYMINUTE"),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """One time of a schedule."""

    local: datetime
    """The time on the clocks of its zone, without an offset. It identifies the slot in its schedule."""
    at: datetime
    """The same time in UTC."""

    @classmethod
    def on_clocks(cls, local: datetime, zone: str) -> Slot:
        """Return the slot at which the clocks of a zone show ``local``.

        A time that the clocks skip becomes the first time after the gap. Of a time that they show
        twice, the first counts.
        """
        rules = find_rules(zone)
        first, last = (local.replace(tzinfo=rules, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first.astimezone(rules).replace(tzinfo=None, fold=0) == local:
            return cls(local, first)
        # The offsets before and after the gap lead to times around the moment at which the clocks jump.
        before, after = sorted((first, last))
        while after - before > timedelta(seconds=1):
            middle = before + (after - before) / 2
            if middle.astimezone(rules).replace(tzinfo=None) < local:
                before = middle
            else:
                after = middle
        return cls(local, after.replace(microsecond=0))


@dataclass(frozen=True, slots=True)
class DayOfWeek:
    """A day of the week, or the ``number``-th such day of a month or a year, counted from the end if it is negative."""

    weekday: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule of RFC 5545 (section 3.3.10) that repeats at most daily, and has one time of day."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """The last possible time. A time without an offset is on the zone's clocks."""
    days: Sequence[DayOfWeek] = ()
    months: Sequence[int] = ()
    days_of_month: Sequence[int] = ()
    positions: Sequence[int] = ()
    """The positions of the days to choose among those of a period, from 1, or from the end if negative."""
    hour: int | None = None
    minute: int | None = None
    week_start: int = 0

    @classmethod
    def parse(cls, text: str) -> Recurrence:
        """Read a rule. Raises ``InvalidRequest`` with the problem."""
        if len(text) > MAX_RULE:
            raise InvalidRequest(f"rule must have at most {MAX_RULE} characters.")
        parts: dict[str, str] = {}
        for part in normalise_rule(text).split(";"):
            name, separator, value = part.partition("=")
            if not separator or not value or name in parts:
                raise InvalidRequest(f"rule: {part!r} is not one NAME=VALUE. Send a rule such as FREQ=WEEKLY;BYDAY=MO.")
            if name not in _SUPPORTED:
                raise InvalidRequest(f"rule: {name} is not supported. Known: {', '.join(_SUPPORTED)}.")
            parts[name] = value
        frequency = cast("Frequency", _check_one_of("FREQ", parts.get("FREQ", ""), _FREQUENCIES))
        if "COUNT" in parts and "UNTIL" in parts:
            raise InvalidRequest("rule: give COUNT or UNTIL, not both.")
        days = tuple(_read_day(day, frequency) for day in parts["BYDAY"].split(",")) if "BYDAY" in parts else ()
        days_of_month = _parse_numbers(parts, "BYMONTHDAY", -31, 31)
        if days_of_month and frequency == "WEEKLY":
            raise InvalidRequest("rule: FREQ=WEEKLY has no BYMONTHDAY.")
        positions, months = _parse_numbers(parts, "BYSETPOS", -366, 366), _parse_numbers(parts, "BYMONTH", 1, 12)
        if positions and not (days or days_of_month or months):
            raise InvalidRequest("rule: BYSETPOS needs BYDAY, BYMONTHDAY or BYMONTH.")
        return cls(
            frequency,
            interval=_parse_number(parts, "INTERVAL", 1, MAX_INTERVAL) or 1,
            count=_parse_number(parts, "COUNT", 1, MAX_COUNT),
            until=_read_until(parts["UNTIL"]) if "UNTIL" in parts else None,
            days=days,
            months=months,
            days_of_month=days_of_month,
            positions=positions,
            hour=_parse_number(parts, "BYHOUR", 0, 23),
            minute=_parse_number(parts, "BYMINUTE", 0, 59),
            week_start=_DAYS.index(_check_one_of("WKST", parts.get("WKST", "MO"), _DAYS)),
        )

    def list_slots(self, start: datetime, zone: str) -> Iterator[Slot]:
        """Yield the slots from ``start`` on in order, at most ``HORIZON`` after it.

        ``start`` is a time on the zone's clocks, without an offset. It is a slot only if the rule says so.
        """
        at = time(
            start.hour if self.hour is None else self.hour,
            start.minute if self.minute is None else self.minute,
            # A rule with a time of day means its whole minute.
            0 if self.hour is not None or self.minute is not None else start.second,
        )
        numbers = count(1) if self.count is None else range(1, self.count + 1)
        local_times = (local for day in self._list_days(start.date()) if (local := datetime.combine(day, at)) >= start)
        for _, local in zip(numbers, local_times, strict=False):
            slot = Slot.on_clocks(local, zone)
            if self.until is not None and (slot.at if self.until.tzinfo else local) > self.until:
                return
            yield slot

    def _list_days(self, start: date) -> Iterator[date]:
        """Yield the days that the rule includes, from ``start`` on in order, at most ``HORIZON`` after it."""
        last = start + HORIZON
        for period in takewhile(lambda period: period[0] <= last, self._list_periods(start)):
            days = [day for day in period if self._has(day, start)]
            if self.positions:
                indices = {number - 1 if number > 0 else len(days) + number for number in self.positions}
                days = [day for index, day in enumerate(days) if index in indices]
            yield from (day for day in days if start <= day <= last)

    def _list_periods(self, start: date) -> Iterator[Sequence[date]]:
        """Yield the days of each period, from the period of ``start`` on."""
        first_of_week = start - timedelta(days=(start.weekday() - self.week_start) % 7)
        for step in count(0, self.interval):
            match self.frequency:
                case "DAILY":
                    yield (start + timedelta(days=step),)
                case "WEEKLY":
                    yield [first_of_week + timedelta(days=7 * step + day) for day in range(7)]
                case "MONTHLY":
                    year, month = divmod(start.year * 12 + start.month - 1 + step, 12)
                    yield _list_days_of_month(year, month + 1)
                case "YEARLY":
                    yield [day for month in range(1, 13) for day in _list_days_of_month(start.year + step, month)]

    def _has(self, day: date, start: date) -> bool:
        """Return whether ``day`` has a month and a day of the rule. What the rule leaves open is taken from ``start``.

        Intervals and positions are applied elsewhere.
        """
        months, days_of_month, days = self.months, self.days_of_month, self.days
        if not days and not days_of_month:
            if self.frequency == "WEEKLY":
                days = (DayOfWeek(start.weekday()),)
            elif self.frequency in ("MONTHLY", "YEARLY"):
                days_of_month = (start.day,)
                months = months or ((start.month,) if self.frequency == "YEARLY" else ())
        length = calendar.monthrange(day.year, day.month)[1]
        return (
            (not months or day.month in months)
            and (not days_of_month or day.day in days_of_month or day.day - length - 1 in days_of_month)
            and (not days or any(self._is_on(day, rule_day, length) for rule_day in days))
        )

    def _is_on(self, day: date, rule_day: DayOfWeek, length: int) -> bool:
        """Return whether ``day``, in a month of ``length`` days, is a day that the rule names."""
        if day.weekday() != rule_day.weekday:
            return False
        if rule_day.number is None:
            return True
        position = day.day
        if self.frequency == "YEARLY" and not self.months:
            position, length = day.timetuple().tm_yday, 366 if calendar.isleap(day.year) else 365
        return rule_day.number in ((position - 1) // 7 + 1, -((length - position) // 7 + 1))


def normalise_rule(text: str) -> str:
    """Return a rule without ``RRULE:`` and white space around it, in capital letters."""
    return text.strip().upper().removeprefix("RRULE:")


def _list_days_of_month(year: int, month: int) -> list[date]:
    return [date(year, month, day + 1) for day in range(calendar.monthrange(year, month)[1])]


def _parse_number(parts: dict[str, str], name: str, least: int, most: int) -> int | None:
    """Return the only number of a part of a rule; None without the part. Raises ``InvalidRequest``."""
    if "," in parts.get(name, ""):
        advice = " For several times a day, make several schedules." if name in ("BYHOUR", "BYMINUTE") else ""
        raise InvalidRequest(f"rule: give one {name}.{advice}")
    return next(iter(_parse_numbers(parts, name, least, most)), None)


def _parse_numbers(parts: dict[str, str], name: str, least: int, most: int) -> tuple[int, ...]:
    """Return the numbers of a part of a rule; empty without the part. Raises ``InvalidRequest``."""
    values = parts[name].split(",") if name in parts else []
    numbers = [int(value) if re.fullmatch(r"[+-]?[0-9]{1,6}", value) else None for value in values]
    in_range = tuple(number for number in numbers if number is not None and least <= number <= most)
    if len(in_range) < len(values) or (least < 0 and 0 in in_range):
        zero = ", without 0" if least < 0 else ""
        raise InvalidRequest(f"rule: {name} must be a whole number from {least} to {most}{zero}.")
    return in_range


def _check_one_of(name: str, value: str, values: tuple[str, ...]) -> str:
    if value not in values:
        raise InvalidRequest(f"rule: {name} must be one of {', '.join(values)}.")
    return value


def _read_day(day: str, frequency: str) -> DayOfWeek:
    match = _DAY.fullmatch(day)
    if match is None:
        raise InvalidRequest(f"rule: BYDAY has {day!r}. Use {', '.join(_DAYS)}, with a number before them if needed.")
    if match[1] is None:
        return DayOfWeek(_DAYS.index(match[2]))
    if frequency not in ("MONTHLY", "YEARLY"):
        raise InvalidRequest("rule: BYDAY has a number, which only FREQ=MONTHLY and FREQ=YEARLY may have.")
    (number,) = _parse_numbers({"BYDAY": match[1]}, "BYDAY", -53, 53)
    return DayOfWeek(_DAYS.index(match[2]), number)


def _read_until(value: str) -> datetime:
    if _UNTIL.fullmatch(value) is None:
        raise InvalidRequest("rule: UNTIL must be a day or a time such as 20271231 or 20271231T220000Z.")
    form = {8: "%Y%m%d", 15: "%Y%m%dT%H%M%S", 16: "%Y%m%dT%H%M%SZ"}[len(value)]
    try:
        until = datetime.strptime(value, form)  # noqa: DTZ007 - a time without Z is on the zone's clocks
    except ValueError:
        raise InvalidRequest(f"rule: UNTIL={value} is not a valid time. Check its day and hour.") from None
    if len(value) == 8:
        return until + timedelta(hours=23, minutes=59, seconds=59)
    return until.replace(tzinfo=UTC) if value.endswith("Z") else until
