"""Shapes of schedules."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from baton.api.http.schemas import NOT_BLANK, Asked, describe
from baton.domain.schedules.schedule import MAX_TEXT, OwnedSchedule, ScheduleStatus
from baton.domain.tenants.identity import MAX_EXTERNAL_ID, MAX_MESSAGE_ID
from baton.domain.times import MAX_TIME_ZONE
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, RequestTime, Timestamp, WireModel

SCHEDULE_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
_TEXT = "Remind me to water the plants."
_RULE = "FREQ=WEEKLY;BYDAY=MO,FR"
MAX_AT = 64
"""Characters of a time."""
MAX_RULE = 1_000
"""Characters of a rule."""


class ScheduleRequest(Asked, extra="forbid"):
    """A schedule to make, with an `at`, a `rule`, or both: then `at` is the time of the first slot at the earliest."""

    id: str | None = describe(
        "The idempotency key: the same id again gets the same schedule. Absent: a new id.",
        SCHEDULE_ID,
        default=None,
        min_length=1,
        max_length=MAX_MESSAGE_ID,
    )
    agent_id: str | None = describe(
        "Absent: the agent of the conversation, or the first one that a conversation may begin with.",
        "assistant",
        default=None,
        max_length=64,
    )
    thread_id: str | None = describe(
        "The conversation that it is in, which its runs enter. Absent: one of its own, which its first run begins.",
        THREAD_ID,
        default=None,
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
    )
    text: str = describe(
        "What the agent is asked at each slot.", _TEXT, min_length=1, max_length=MAX_TEXT, json_schema_extra=NOT_BLANK
    )
    at: str | None = describe(
        "An ISO 8601 time. Without an offset it is on the clocks of `timeZone`.",
        "2027-03-14T09:00",
        default=None,
        max_length=MAX_AT,
    )
    rule: str | None = describe(
        "A rule of RFC 5545, from DAILY to YEARLY. Absent: it runs once, at `at`.",
        _RULE,
        default=None,
        max_length=MAX_RULE,
    )
    time_zone: str | None = describe(
        "An IANA time zone, or `user`: that of the user, also after they have moved. Absent: the one they are in now.",
        "user",
        default=None,
        max_length=MAX_TIME_ZONE,
    )
    ends_at: RequestTime | None = describe("The time after which it has no slots.", TIMESTAMP, default=None)


class ScheduleChangeRequest(Asked, extra="forbid"):
    """A change of a schedule. What is absent stays as it is."""

    text: str | None = describe("The new text.", _TEXT, default=None, min_length=1, max_length=MAX_TEXT)
    at: str | None = describe(
        "The new time, as in a new schedule.", "2027-03-14T10:00", default=None, max_length=MAX_AT
    )
    rule: str | None = describe("The new rule.", _RULE, default=None, max_length=MAX_RULE)
    paused: bool | None = describe(
        "Whether it has no runs for now. Slots that pass are left out.", default=None, examples=[True]
    )


class ServedSchedule(WireModel):
    """A schedule: a time, or several, at which a run begins by itself."""

    id: str = Field(examples=[SCHEDULE_ID])
    user_id: str | None = describe("The schedule's user; left out of the caller's own.", "alice", absent=None)
    agent_id: str = Field(examples=["assistant"])
    thread_id: str = describe(
        "The conversation that it is in, which its runs enter unless its agent chooses the newest.", THREAD_ID
    )
    text: str = Field(examples=[_TEXT])
    at: Timestamp = describe("The time of the first slot at the earliest.", TIMESTAMP)
    rule: str | None = describe("The rule by which it repeats; null if it runs once.", _RULE)
    time_zone: str = describe("The time zone of its slots; `user`: that of its user.", "user")
    ends_at: Timestamp | None = describe("The time after which it has no slots; null without one.", None)
    status: ScheduleStatus = describe("`finished`: it has no further slot. It is kept for 30 days.", "active")
    next_at: Timestamp | None = describe("The next slot; null while it is paused, and after the last one.", TIMESTAMP)
    last_at: Timestamp | None = describe("The time at which its last run began; null before the first.", None)
    last_run_id: str | None = describe("That run; null before the first.", RUN_ID)
    paused: bool = Field(examples=[False])
    created_by: Literal["user", "agent"] = Field(examples=["agent"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    runs: int = describe("The runs that have begun.", 3)

    @classmethod
    def from_record(cls, owned: OwnedSchedule, *, names_user: bool) -> ServedSchedule:
        """Return the served form of a schedule, for those who may read it."""
        return cls.of(owned.schedule, user_id=owned.user_id if names_user else None)
