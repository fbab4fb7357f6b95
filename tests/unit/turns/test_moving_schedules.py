"""Schedules of users who move to another time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from baton.domain.schedules.schedule import Schedule
from baton.threads.schedules.schedule_making import ScheduleChange
from baton_testing.fakes.clock import FakeClock
from tests.harness.due import DueHarness

VIENNA, NEW_YORK, TOKYO = "Europe/Vienna", "America/New_York", "Asia/Tokyo"


async def send_from(due: DueHarness, zone: str) -> None:
    """Send a message from a time zone."""
    await due.say(f"m-{zone}", "Hello", time_zone=zone)


async def schedule_daily(began: str, zone: str, at: str, **fields: str) -> tuple[DueHarness, Schedule]:
    """Return a user in a time zone, with a daily schedule that follows the user."""
    due = DueHarness(clock=FakeClock(datetime.fromisoformat(began).replace(tzinfo=UTC)))
    await send_from(due, zone)
    rule = f"FREQ=DAILY;BYHOUR={int(at[:2])};BYMINUTE={int(at[3:])}"
    return due, await due.remind(**{"id": "daily", "at": None, "rule": rule, "time_zone": "user"} | fields)


async def get_kept(due: DueHarness) -> Schedule:
    """Return the stored schedule."""
    return (await due.app.self_started.schedule_making.get(due.ada, "daily")).schedule


@pytest.mark.parametrize(
    ("began", "at", "here", "there", "planned", "moved"),
    [
        pytest.param("2040-06-01T20:00", "09:00", VIENNA, TOKYO, "06-02T07:00", "06-02T00:00", id="east"),
        pytest.param("2040-06-01T20:00", "09:00", VIENNA, NEW_YORK, "06-02T07:00", "06-02T13:00", id="west"),
        pytest.param("2040-03-10T20:00", "02:30", VIENNA, NEW_YORK, "03-11T01:30", "03-11T07:00", id="west, skipped"),
        pytest.param("2040-03-24T20:00", "02:30", NEW_YORK, VIENNA, "03-25T06:30", "03-25T01:00", id="east, skipped"),
        pytest.param("2040-11-03T20:00", "01:30", VIENNA, NEW_YORK, "11-04T00:30", "11-04T05:30", id="west, twice"),
        pytest.param("2040-10-27T20:00", "02:30", NEW_YORK, VIENNA, "10-28T06:30", "10-28T00:30", id="east, twice"),
    ],
)
async def test_a_schedule_follows_its_user_and_runs_on_time(
    began: str, at: str, here: str, there: str, planned: str, moved: str
) -> None:
    due, schedule = await schedule_daily(began, here, at)
    assert schedule.next_at == datetime.fromisoformat(f"2040-{planned}Z")
    await send_from(due, there)
    arrived = await get_kept(due)
    assert (arrived.zone, arrived.next_at) == (there, datetime.fromisoformat(f"2040-{moved}Z"))
    assert arrived.next_at is not None
    due.clock.time = arrived.next_at - timedelta(minutes=1)
    assert await due.pass_time() == 0
    assert await due.pass_time(minutes=1) == 1
    assert (await due.messages())[-2].begun_by == schedule.make_source(schedule.next_at or due.clock.time)
    following = (await get_kept(due)).next_slot
    assert following is not None
    assert following.endswith(f"T{at}:00")
    assert await due.pass_time(hours=1) == 0, "a time that comes twice has one slot"


async def test_who_flies_west_after_a_slot_is_not_reminded_again_on_that_day() -> None:
    due, _ = await schedule_daily("2040-06-01T06:00", VIENNA, "09:00")
    assert await due.pass_time(hours=1) == 1
    await send_from(due, NEW_YORK)
    assert (await get_kept(due)).next_slot == "2040-06-02T09:00:00"
    assert await due.pass_time(hours=12) == 0


async def test_a_slot_that_has_passed_on_the_new_clocks_runs_once_and_says_how_late_it_is() -> None:
    due, _ = await schedule_daily("2040-06-01T05:00", VIENNA, "09:00")
    await send_from(due, TOKYO)  # where it is two in the afternoon
    assert await due.pass_time() == 1
    cause = (await due.messages())[-2].begun_by
    assert cause is not None
    assert cause.late == 5 * 3600
    assert (await get_kept(due)).next_at == datetime(2040, 6, 2, 0, tzinfo=UTC)


async def test_schedules_of_a_fixed_zone_and_moments_stay() -> None:
    due, fixed = await schedule_daily("2040-06-01T05:00", VIENNA, "09:00", time_zone=VIENNA)
    moment = await due.remind(id="moment", at="2040-06-01T09:00:00Z", time_zone="user")
    await send_from(due, TOKYO)
    assert await due.app.self_started.schedule_making.list_schedules(due.ada) == [fixed, moment]


async def test_a_schedule_that_is_changed_to_a_moment_no_longer_follows_its_user() -> None:
    due, daily = await schedule_daily("2040-06-01T05:00", VIENNA, "09:00")
    await due.remind(id="once", at="2040-06-01T20:00", time_zone="user")
    making = due.app.self_started.schedule_making
    once = (await making.change(due.ada, "once", ScheduleChange(at="2040-06-02T09:00:00Z"))).schedule
    assert (daily.follows_user, once.follows_user) == (True, False)
    await send_from(due, TOKYO)
    assert (await making.get(due.ada, "once")).schedule == once


async def test_a_paused_schedule_resumes_where_its_user_is() -> None:
    due, _ = await schedule_daily("2040-06-01T20:00", VIENNA, "09:00")
    await due.app.self_started.schedule_making.change(due.ada, "daily", ScheduleChange(paused=True))
    await send_from(due, TOKYO)
    resumed = await due.app.self_started.schedule_making.change(due.ada, "daily", ScheduleChange(paused=False))
    assert resumed.schedule.next_at == datetime(2040, 6, 2, 0, tzinfo=UTC)


async def test_a_slot_that_comes_soon_on_the_new_clocks_is_given_to_the_queue() -> None:
    due, _ = await schedule_daily("2040-06-01T23:59:30", VIENNA, "09:00")
    await send_from(due, TOKYO)
    assert [seconds for _, seconds in due.delay_queue.sent] == [30]
