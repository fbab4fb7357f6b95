"""Opening hours in time zones, and the returns that they mean for conversations which wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.desks.desk import DeskDefinition
from baton.domain.desks.desk_session import DeskSession, ReturnReason, check_desk
from baton.domain.desks.opening_hours import OpeningHours

VIENNA = ZoneInfo("Europe/Vienna")  # in 2026 its clocks change on 29 March at 02:00 and on 25 October at 03:00
OFFICE = {"mon-fri": "09:00-17:00"}


def hours(
    week: dict[str, str] = OFFICE, zone: str = "Europe/Vienna", exceptions: dict[str, str] | None = None
) -> OpeningHours:
    return OpeningHours.model_validate({"zone": zone, "week": week, "except": exceptions or {}})


def at(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    """A time of 2026 in Vienna."""
    return datetime(2026, month, day, hour, minute, tzinfo=VIENNA).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "is_open"),
    [
        (at(3, 27, 8, 59), False),
        (at(3, 27, 9), True),
        (at(3, 27, 16, 59), True),
        (at(3, 27, 17), False),
        (at(3, 28, 12), False),
        (at(3, 30, 9), True),  # an hour earlier in UTC than on the Friday before
    ],
)
def test_hours_are_those_of_the_clocks_of_the_zone(now: datetime, is_open: bool) -> None:
    assert hours().is_open(now) is is_open


def test_the_next_opening_and_closing_are_on_the_other_side_of_a_change_of_clocks() -> None:
    assert hours().find_next_opening(at(3, 27, 17)) == datetime(2026, 3, 30, 7, tzinfo=UTC)
    assert hours().find_next_opening(at(10, 23, 18)) == datetime(2026, 10, 26, 8, tzinfo=UTC)
    night = hours({"sat": "22:00-06:00"})
    assert night.find_next_closing(at(3, 28, 23)) == datetime(2026, 3, 29, 4, tzinfo=UTC)
    assert night.find_next_closing(at(10, 24, 23)) == datetime(2026, 10, 25, 5, tzinfo=UTC)


def test_hours_that_a_change_of_clocks_leaves_out_are_no_opening() -> None:
    night = hours({"sat-sun": "02:00-03:00"})
    assert night.find_next_opening(at(3, 28, 12)) == at(4, 4, 2)


def test_single_days_have_hours_of_their_own_and_those_after_them_the_week_s() -> None:
    desk_hours = hours(exceptions={"2026-12-25": "closed", "2026-12-26": "10:00-12:00, 13:00-14:00"})
    assert not desk_hours.is_open(at(12, 25, 10))
    assert desk_hours.find_next_opening(at(12, 24, 18)) == at(12, 26, 10)
    assert desk_hours.find_next_opening(at(12, 26, 12)) == at(12, 26, 13)
    assert desk_hours.find_next_opening(at(12, 26, 14)) == at(12, 28, 9)


def test_a_night_lasts_into_a_day_that_is_closed() -> None:
    night = hours({"thu": "22:00-06:00"}, exceptions={"2026-12-25": "closed"})
    assert night.is_open(at(12, 25, 5))
    assert not night.is_open(at(12, 25, 23))


def test_spans_without_a_gap_are_one() -> None:
    assert hours({"mon-tue": "00:00-24:00"}).find_next_closing(at(3, 30, 12)) == at(4, 1, 0)


def test_a_desk_that_never_closes_has_no_closing() -> None:
    assert hours({"mon-sun": "00:00-24:00"}).find_next_closing(at(3, 30, 12)) is None


def test_a_desk_that_never_opens_has_no_opening() -> None:
    assert hours({"mon": "closed"}).find_next_opening(at(3, 30, 12)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"zone": "Europe/Wien"},
        {"week": {"monday": "09:00-17:00"}},
        {"week": {"mon-fri": "9-17"}},
        {"week": {"mon-fri": "09:00-25:00"}},
        {"week": {"mon-fri": "09:00-17:00", "wed": "closed"}},
        {"except": {"2026-02-30": "closed"}},
        {"except": {"2026-12-25": "shut"}},
    ],
)
def test_hours_that_nobody_can_keep_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"zone|days|hours|entries|date"):
        OpeningHours.model_validate({"zone": "Europe/Vienna", "week": OFFICE} | fields)


SPANS = st.sampled_from(["closed", "09:00-17:00", "22:00-06:00", "01:30-02:30", "02:00-03:00", "00:00-24:00"])
ZONES = st.sampled_from(["Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"])
MOMENTS = st.integers(0, 366 * 24 * 4).map(lambda quarter: at(1, 1, 0) + timedelta(minutes=15 * quarter))


@given(st.lists(SPANS, min_size=7, max_size=7), ZONES, MOMENTS)
def test_a_desk_opens_at_its_next_opening_and_closes_at_its_next_closing(
    days: list[str], zone: str, now: datetime
) -> None:
    week = dict(zip(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), days, strict=True))
    desk_hours, instant = hours(week, zone), timedelta(microseconds=1)
    closing, opening = desk_hours.find_next_closing(now), desk_hours.find_next_opening(now)
    assert (closing is not None) == desk_hours.is_open(now)
    if closing is not None and set(days) != {"00:00-24:00"}:
        assert desk_hours.is_open(closing - instant)
        assert not desk_hours.is_open(closing)
    if opening is not None:
        assert desk_hours.is_open(opening)
        assert closing is not None or not desk_hours.is_open(opening - instant)
        assert opening > now


@pytest.mark.parametrize(
    ("closed", "now", "reason"),
    [
        ("tell", at(3, 27, 16, 59), None),
        ("tell", at(3, 27, 17), ReturnReason.HOURS),
        ("queue", at(3, 27, 17), None),
        ("queue", at(3, 30, 9, 4), None),  # five minutes on Friday, and four on Monday
        ("queue", at(3, 30, 9, 5), ReturnReason.NOBODY),
    ],
)
def test_only_opening_time_counts_as_waiting(closed: str, now: datetime, reason: ReturnReason | None) -> None:
    rules = DeskDefinition.model_validate({"hours": hours(), "closed": closed, "wait_minutes": 10})
    since = at(3, 27, 16, 55)
    assert check_desk(rules, DeskSession(since, since), now).reason is reason
