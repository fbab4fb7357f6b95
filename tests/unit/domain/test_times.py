"""Times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.times import from_millis, to_iso, to_millis

moments = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-11))]),
)


@given(moments)
def test_what_is_stored_is_what_is_shown(moment: datetime) -> None:
    assert to_iso(from_millis(to_millis(moment))) == to_iso(moment)


@given(st.integers(-(10**12), 10**13))
def test_milliseconds_come_back(millis: int) -> None:
    assert to_millis(from_millis(millis)) == millis
    assert from_millis(millis).tzinfo is UTC


@given(moments, moments)
def test_order_is_kept(one: datetime, other: datetime) -> None:
    assert (to_millis(one) <= to_millis(other)) or one > other
    assert (to_iso(one) <= to_iso(other)) == (to_millis(one) <= to_millis(other))


def test_a_time_is_utc_with_milliseconds_and_z() -> None:
    east = timezone(timedelta(hours=2))
    assert to_iso(datetime(2026, 3, 1, 1, 2, 3, 456_789, east)) == "2026-02-28T23:02:03.456Z"
    assert to_iso(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01T00:00:00.000Z"
