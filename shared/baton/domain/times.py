"""Formats of times for clients and the store, and time zones of users."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_iso(moment: datetime) -> str:
    """Return the time as UTC ISO 8601 with milliseconds and ``Z``."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds')[:-6]}Z"


def to_millis(moment: datetime) -> int:
    """Return whole milliseconds since the Unix epoch, as ``to_iso`` shows them."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_millis(millis: int) -> datetime:
    """Return the aware UTC time of ``millis`` since the Unix epoch."""
    return _EPOCH + timedelta(milliseconds=millis)


DEFAULT_ZONE = "UTC"
"""The zone whose days count if the user's zone is not known."""
MAX_TIME_ZONE = 64
"""Characters of a zone's name. IANA's longest has 32."""
CACHED_ZONES = 64
"""Zones that stay in memory after their first use."""

_OFFSET = re.compile(r"UTC([+-])(\d\d):(\d\d)")


def is_time_zone(name: str) -> bool:
    """Return whether IANA has a zone of this name."""
    return len(name) <= MAX_TIME_ZONE and name in _load_names()


def name_offset(offset: timedelta) -> str:
    """Return the name of a fixed offset from UTC, such as ``UTC-08:00``, without seconds."""
    minutes = int(offset / timedelta(minutes=1))
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def find_day(zone: str | None, moment: datetime) -> date:
    """Return the day of ``moment`` in a zone; in UTC if the zone is None or not known."""
    return moment.astimezone(find_rules(zone)).date() if zone is not None else moment.astimezone(UTC).date()


def convert_to_zone(zone: str, moment: datetime) -> datetime:
    """Return ``moment`` on the clocks of a zone, with the offset that the zone has then; in UTC for an unknown zone."""
    return moment.astimezone(find_rules(zone))


def is_offset(zone: str) -> bool:
    """Return whether the zone is a fixed offset, which no request may name."""
    return _OFFSET.fullmatch(zone) is not None


@dataclass(frozen=True, slots=True)
class Today:
    """The day of a run in its user's time zone."""

    day: date
    known_zone: str | None = None
    """The name of the zone; None if it is not known, and the day is that of UTC."""

    @classmethod
    def at(cls, moment: datetime, zone: str | None) -> Today:
        """Return the day that ``moment`` has in a zone; in UTC if the zone is None."""
        return cls(find_day(zone, moment), zone)

    @property
    def zone(self) -> str:
        """The name of the zone in prompts."""
        return self.known_zone or DEFAULT_ZONE

    @property
    def sentence(self) -> str:
        """The day in words, with its weekday and its zone."""
        return f"Today is {self.day:%A}, {self.day.day} {self.day:%B} {self.day.year} ({self.zone})."


@cache
def _load_names() -> frozenset[str]:
    """Return the names of zones in the package ``tzdata``, because not every system has its own zones."""
    names = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return frozenset(names) - {"Factory"}  # the placeholder for a system whose zone is not set


@lru_cache(maxsize=CACHED_ZONES)
def find_rules(zone: str) -> tzinfo:
    """Return the rules of a zone, or of a fixed offset (``name_offset``); those of UTC if the zone is not known."""
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        minutes = 60 * int(offset[2]) + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    return ZoneInfo(zone) if is_time_zone(zone) else UTC
