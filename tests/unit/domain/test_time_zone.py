"""Days are the user's: in zones with their changes of the clock, at fixed offsets, and in words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.times import MAX_TIME_ZONE, Today, convert_to_zone, find_day, is_offset, is_time_zone, name_offset

offsets = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timedelta(minutes=minutes))
moments = st.integers(48, 1_000_000).map(lambda hours: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hours))


@pytest.mark.parametrize(
    "name", ["Europe/Vienna", "America/Argentina/Buenos_Aires", "Etc/GMT+8", "Asia/Calcutta", "US/Pacific", "UTC"]
)
def test_names_of_iana_are_known_the_old_ones_too(name: str) -> None:
    assert is_time_zone(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Olympus",
        "europe/vienna",
        " Europe/Vienna",
        "Europe/Vienna\n",
        "Europe",
        "CEST",
        "+02:00",
        "UTC+02:00",
        "../../etc/passwd",
        "/usr/share/zoneinfo/UTC",
        "posix/Europe/Vienna",
        "tzdata.zi",
        "localtime",
        "Factory",
        "Etc/Unknown",
        "Europe/\0Vienna",
        "A" * (MAX_TIME_ZONE + 1),
        "A" * 1_000_000,
    ],
)
def test_nothing_else_is_a_time_zone(name: str) -> None:
    assert not is_time_zone(name)


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("America/Los_Angeles", "2026-11-21T06:30:00Z", "2026-11-20"),
        ("Pacific/Auckland", "2026-11-20T12:00:00Z", "2026-11-21"),
        # Clocks go forward at 02:00 of 29 March: the day has 23 hours.
        ("Europe/Vienna", "2026-03-28T22:59:59Z", "2026-03-28"),
        ("Europe/Vienna", "2026-03-28T23:00:00Z", "2026-03-29"),
        ("Europe/Vienna", "2026-03-29T21:59:59Z", "2026-03-29"),
        ("Europe/Vienna", "2026-03-29T22:00:00Z", "2026-03-30"),
        # And back at 03:00 of 25 October: it has 25.
        ("Europe/Vienna", "2026-10-24T22:00:00Z", "2026-10-25"),
        ("Europe/Vienna", "2026-10-25T22:59:59Z", "2026-10-25"),
        ("Europe/Vienna", "2026-10-25T23:00:00Z", "2026-10-26"),
        # Samoa had no 30 December 2011.
        ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
        (None, "2026-11-21T06:30:00Z", "2026-11-21"),
        ("a zone that this version does not know", "2026-11-21T06:30:00Z", "2026-11-21"),
    ],
)
def test_a_moment_is_on_the_day_that_the_clocks_there_showed(zone: str | None, moment: str, day: str) -> None:
    assert find_day(zone, datetime.fromisoformat(moment)) == date.fromisoformat(day)


@given(offsets, moments)
def test_a_fixed_offset_is_a_zone_too(offset: timedelta, moment: datetime) -> None:
    zone = name_offset(offset)
    assert is_offset(zone)
    assert not is_time_zone(zone)
    assert find_day(zone, moment) == (moment + offset).date()
    assert convert_to_zone(zone, moment) == moment
    assert convert_to_zone(zone, moment).utcoffset() == offset


def test_seconds_of_an_offset_do_not_count() -> None:
    assert name_offset(timedelta(hours=-23, minutes=-59, seconds=-59)) == "UTC-23:59"


def test_today_is_named_with_its_weekday_and_its_zone() -> None:
    late = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)
    assert Today.at(late, None).sentence == "Today is Thursday, 26 November 2026 (UTC)."
    assert Today.at(late, "Europe/Vienna").sentence == "Today is Friday, 27 November 2026 (Europe/Vienna)."
    assert Today.at(late, "UTC-08:00").sentence == "Today is Thursday, 26 November 2026 (UTC-08:00)."
