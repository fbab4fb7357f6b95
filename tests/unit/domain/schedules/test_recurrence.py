"""Rules of schedules, compared with those of dateutil, and the clocks of time zones."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.errors import InvalidRequest
from baton.domain.schedules.recurrence import HORIZON, MAX_RULE, Recurrence, Slot

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Return a rule whose slots are not far apart: dateutil looks for others for a long time."""
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(1, 3))}"]
    if frequency in ("MONTHLY", "YEARLY") and draw(st.booleans()):
        number = draw(st.sampled_from(["", "1", "2", "-1", "4"]))
        parts.append(f"BYDAY={number}{draw(st.sampled_from(DAYS))}")
    elif frequency == "WEEKLY" and draw(st.booleans()):
        parts.append(f"BYDAY={','.join(draw(st.lists(st.sampled_from(DAYS), min_size=1, unique=True)))}")
        parts.append(f"WKST={draw(st.sampled_from(['MO', 'SU']))}")
    elif frequency == "MONTHLY" and draw(st.booleans()):
        parts.append(f"BYMONTHDAY={draw(st.sampled_from(['1', '15', '-1', '28', '1,15', '-3,2']))}")
    if frequency == "YEARLY" and draw(st.booleans()):
        parts.append(f"BYMONTH={draw(st.sampled_from(['1', '2,8', '12']))}")
    if frequency in ("MONTHLY", "YEARLY") and "BY" in ";".join(parts) and draw(st.booleans()):
        parts.append(f"BYSETPOS={draw(st.sampled_from(['1', '-1', '1,-1']))}")
    if draw(st.booleans()):
        parts.append("BYHOUR=9;BYMINUTE=30")
    if draw(st.booleans()):
        parts.append(f"COUNT={draw(st.integers(1, 5))}")
    return ";".join(parts)


@given(rules(), st.datetimes(datetime(2024, 1, 1), datetime(2029, 12, 28)))  # noqa: DTZ001 - on the zone's clocks
def test_rules_have_the_slots_that_dateutil_finds(rule: str, start: datetime) -> None:
    start = start.replace(second=0, microsecond=0)
    here = [slot.local for slot in islice(Recurrence.parse(rule).list_slots(start, "UTC"), 8)]
    there = [local for local in islice(rrulestr(rule, dtstart=start), 8) if local.date() <= start.date() + HORIZON]
    assert here == there


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=TU",  # the start is a Thursday
        "FREQ=YEARLY;BYDAY=53MO;BYMONTH=1",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31;BYMONTH=4",
        "FREQ=MONTHLY;BYDAY=FR;BYSETPOS=300",
        "FREQ=YEARLY;INTERVAL=1000;BYMONTH=12",
    ],
)
def test_the_search_for_slots_of_a_rule_that_has_none_ends(rule: str) -> None:
    slots = Recurrence.parse(rule).list_slots(datetime(2026, 1, 1, 9), "UTC")  # noqa: DTZ001
    assert list(slots) in ([], [Slot(datetime(2026, 12, 1, 9), datetime(2026, 12, 1, 9, tzinfo=UTC))])  # noqa: DTZ001


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("", "NAME=VALUE"),
        ("FREQ=SECONDLY", "DAILY, WEEKLY, MONTHLY, YEARLY"),
        ("INTERVAL=2", "FREQ must be one of"),
        ("FREQ=DAILY;BYSECOND=3", "BYSECOND is not supported"),
        ("FREQ=DAILY;COUNT=1;UNTIL=20270101", "COUNT or UNTIL"),
        ("FREQ=DAILY;FREQ=DAILY", "NAME=VALUE"),
        ("FREQ=DAILY;BYDAY=1MO", "FREQ=MONTHLY and FREQ=YEARLY"),
        ("FREQ=MONTHLY;BYDAY=0MO", "without 0"),
        ("FREQ=MONTHLY;BYDAY=XX", "BYDAY has 'XX'"),
        ("FREQ=DAILY;UNTIL=20271399", "is not a valid time"),
        ("FREQ=DAILY;UNTIL=tomorrow", "such as 20271231"),
        ("FREQ=DAILY;INTERVAL=0", "from 1 to 1000"),
        ("FREQ=DAILY;INTERVAL=" + "9" * 50, "from 1 to 1000"),
        ("FREQ=DAILY;BYMONTHDAY=0", "without 0"),
        ("FREQ=DAILY;BYHOUR=9,12", "several schedules"),
        ("FREQ=DAILY;INTERVAL=2,3", "give one INTERVAL.$"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS needs"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "no BYMONTHDAY"),
        ("FREQ=DAILY;BYHOUR=٣", "from 0 to 23"),
        ("FREQ=DAILY" + " " * MAX_RULE, "at most 200"),
    ],
)
def test_a_rule_that_is_not_supported_is_refused_with_the_reason(rule: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        Recurrence.parse(rule)


@pytest.mark.parametrize(
    ("local", "at"),
    [
        ("2026-03-28T02:30", "2026-03-28T01:30Z"),
        ("2026-03-29T02:30", "2026-03-29T01:00Z"),  # skipped: the clocks jump from 2 to 3
        ("2026-03-30T02:30", "2026-03-30T00:30Z"),
        ("2026-10-25T02:30", "2026-10-25T00:30Z"),  # shown twice
        ("2026-10-26T02:30", "2026-10-26T01:30Z"),
    ],
)
def test_a_slot_is_at_the_time_that_the_clocks_show(local: str, at: str) -> None:
    assert Slot.on_clocks(datetime.fromisoformat(local), "Europe/Vienna").at == datetime.fromisoformat(at)


def test_until_is_a_day_of_the_zone_or_a_time_in_utc() -> None:
    start = datetime(2027, 1, 1, 0, 30)  # noqa: DTZ001
    last = [list(Recurrence.parse(f"FREQ=DAILY;UNTIL={until}").list_slots(start, "Europe/Vienna"))[-1].local.day
            for until in ("20270103", "20270103T003000", "20270102T233000Z", "20270102T232959Z")]  # fmt: skip
    assert last == [3, 3, 3, 2]
