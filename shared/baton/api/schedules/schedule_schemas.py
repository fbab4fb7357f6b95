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
    """A schedule to make, with an `at`, a `rule`, or both. With both, `at` is the earliest time of the first slot."""

    id: str | None = describe(
        "The idempotency key: a repeated request with the same id gets the same schedule. Default: a new id.",
        SCHEDULE_ID,
        default=None,
        min_length=1,
        max_length=MAX_MESSAGE_ID,
    )
    agent_id: str | None = describe(
        "Default: the agent of the conversation, or the first agent with which a conversation may begin.",
        "assistant",
        default=None,
        max_length=64,
    )
    thread_id: str | None = describe(
        "The conversation of its runs. Default: a separate conversation, which its first run begins.",
        THREAD_ID,
        default=None,
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
    )
    text: str = describe(
        "The request to the agent at each slot.", _TEXT, min_length=1, max_length=MAX_TEXT, json_schema_extra=NOT_BLANK
    )
    at: str | None = describe(
        "An ISO 8601 time. Without an offset, it is a local time in `timeZone`.",
        "2027-03-14T09:00",
        default=None,
        max_length=MAX_AT,
    )
    rule: str | None = describe(
        "A rule of RFC 5545, from DAILY to YEARLY. Default: it runs once, at `at`.",
        _RULE,
        default=None,
        max_length=MAX_RULE,
    )
    time_zone: str | None = describe(
        "An IANA time zone, or `user` for the user's time zone, even if it changes. Default: the user's time zone now.",
        "user",
        default=None,
        max_length=MAX_TIME_ZONE,
    )
    ends_at: RequestTime | None = describe("The time after which it has no slots.", TIMESTAMP, default=None)


class ScheduleChangeRequest(Asked, extra="forbid"):
    """A change of a schedule. Fields that are left out are not changed."""

    text: str | None = describe("The new text.", _TEXT, default=None, min_length=1, max_length=MAX_TEXT)
    at: str | None = describe(
        "The new time, as in a new schedule.", "2027-03-14T10:00", default=None, max_length=MAX_AT
    )
    rule: str | None = describe("The new rule.", _RULE, default=None, max_length=MAX_RULE)
    paused: bool | None = describe(
        "Whether it has no runs for now. Slots that pass meanwhile are left out.", default=None, examples=[True]
    )


class ServedSchedule(WireModel):
    """A schedule: one or several times at which a run begins without a message of the user."""

    id: str = Field(examples=[SCHEDULE_ID])
    user_id: str | None = describe("The schedule's user; left out of the caller's own.", "alice", absent=None)
    agent_id: str = Field(examples=["assistant"])
    thread_id: str = describe(
        "The conversation of its runs, unless its agent chooses the user's newest conversation.", THREAD_ID
    )
    text: str = Field(examples=[_TEXT])
    at: Timestamp = describe("The earliest time of the first slot.", TIMESTAMP)
    rule: str | None = describe("The rule by which it repeats; null if it runs once.", _RULE)
    time_zone: str = describe("The time zone of its slots; `user` for the user's time zone.", "user")
    ends_at: Timestamp | None = describe("The time after which it has no slots; null without one.", None)
    status: ScheduleStatus = describe("`finished`: it has no further slot. It is kept for 30 days.", "active")
    next_at: Timestamp | None = describe("The next slot; null while it is paused, and after the last slot.", TIMESTAMP)
    last_at: Timestamp | None = describe("The time at which its last run began; null before the first run.", None)
    last_run_id: str | None = describe("The last run; null before the first run.", RUN_ID)
    paused: bool = Field(examples=[False])
    created_by: Literal["user", "agent"] = Field(examples=["agent"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    runs: int = describe("The number of runs that were queued, including those that were skipped while they waited.", 3)

    @classmethod
    def from_record(cls, owned: OwnedSchedule, *, names_user: bool) -> ServedSchedule:
        """Return the served form of a schedule, with its user if ``names_user``."""
        return cls.of(owned.schedule, user_id=owned.user_id if names_user else None)
