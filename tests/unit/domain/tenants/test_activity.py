"""Counts of activity stay small, and keep a run until its tokens are counted."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta

from baton.domain.tenants.activity import MAX_COUNTED_USERS, MAX_PLACES, RUN_SECONDS, Activity, Place, derive_long_tag

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def make_place(number: int, *, run: str = "run") -> Place:
    return Place(f"user {number}", until=int(NOON.timestamp()) + number, run=run)


def test_the_number_of_places_is_bounded_and_the_newest_stay() -> None:
    activity = Activity()
    for number in range(MAX_PLACES + 50):
        activity = activity.take(f"thread {number}", make_place(number))
    assert set(activity.places) == {f"thread {number}" for number in range(50, MAX_PLACES + 50)}


def test_messages_are_counted_of_a_bounded_number_of_users_with_the_busiest_of_them() -> None:
    activity = Activity()
    for number in range(3 * MAX_COUNTED_USERS):
        activity = activity.take("the same thread", make_place(0), messages=1)
        activity = activity.take("the same thread", make_place(number), messages=1)
    assert len(activity.messages_of) <= MAX_COUNTED_USERS
    assert activity.messages_of["user 0"] == 3 * MAX_COUNTED_USERS + 1
    assert activity.messages == 6 * MAX_COUNTED_USERS


def test_a_run_is_kept_for_its_tokens_until_the_day_is_over_and_a_connection_until_its_time() -> None:
    until = int(NOON.timestamp()) + RUN_SECONDS
    activity = Activity(places={"a run": Place("ada", until, run="m1"), "a connection": Place("ada", until)})
    assert set(activity.at(NOON).places) == {"a run", "a connection"}
    assert set(activity.at(NOON + timedelta(hours=11)).places) == {"a run"}
    assert not activity.at(NOON + timedelta(hours=12)).places


def test_a_run_of_the_last_hour_is_kept_over_midnight() -> None:
    midnight = NOON + timedelta(hours=12)
    activity = Activity(places={"a run": Place("ada", int(midnight.timestamp()) + RUN_SECONDS - 60, run="m1")})
    assert activity.at(midnight).places
    assert not activity.at(midnight + timedelta(hours=1)).places


def test_a_client_finds_no_two_ids_of_messages_that_count_as_one() -> None:
    assert len(urlsafe_b64decode(derive_long_tag("m1"))) * 8 >= 96  # by comparing pairs, half of the bits are found
