"""Schedules and reminders: runs that begin at a time, once or repeatedly, in a conversation of their user."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal, Self

from baton.domain.errors import InvalidRequest
from baton.domain.schedules.recurrence import HORIZON, Recurrence, Slot
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope
from baton.domain.times import convert_to_zone

USER_ZONE = "user"
"""The ``timeZone`` of a schedule that follows its user to other zones."""
MAX_TEXT = 4_000
"""Characters of a schedule's text."""


class ScheduleStatus(StrEnum):
    """The status of a schedule."""

    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    """It has no further slot."""


@dataclass(frozen=True, slots=True)
class SlotConversation:
    """The conversation that the run for a slot enters."""

    slot: str
    """The slot on the zone's clocks (``Schedule.next_slot``)."""
    thread_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule. Every change returns a new value."""

    id: str
    agent_id: str
    thread_id: str
    """The conversation in which it was made. Its runs enter it unless another one is ``chosen``."""
    text: str
    start: str
    """The earliest time of the first slot, on the zone's clocks: ISO 8601 without an offset."""
    rule: str | None = None
    """The rule by which it repeats; None for a single run."""
    zone: str
    """The IANA name of the time zone of its slots; for ``follows_user``, the zone of the last computation."""
    follows_user: bool = False
    """True if its times are in the current time zone of its user."""
    ends_at: datetime | None = None
    """The time after which it has no slots; None if it has no such end."""
    created_at: datetime
    created_by: Literal["user", "agent"]
    permissions: tuple[str, ...] = ()
    """The permissions that its maker had. Its runs have the same."""
    user_name: str | None = None
    next_slot: str | None = None
    """The next slot on the zone's clocks; None while it is paused, and after the last one."""
    next_at: datetime | None = None
    """The time of that slot in UTC."""
    paused: bool = False
    last_at: datetime | None = None
    """The time at which its last run began; None before the first."""
    last_run_id: str | None = None
    runs: int = 0
    """The number of runs that were queued. A run that is skipped while it waits is counted, too."""
    chosen: SlotConversation | None = None
    """The conversation that was chosen for the run of the last slot that needed a choice; None if none did."""
    revision: int = 1

    @property
    def at(self) -> datetime:
        """The time of its start, in UTC."""
        return Slot.on_clocks(datetime.fromisoformat(self.start), self.zone).at

    @property
    def time_zone(self) -> str:
        """Its time zone as clients see it."""
        return USER_ZONE if self.follows_user else self.zone

    @property
    def is_chosen(self) -> bool:
        """True if the conversation for its next slot was chosen."""
        return self.chosen is not None and self.chosen.slot == self.next_slot

    @property
    def last_thread_id(self) -> str:
        """The conversation that was chosen last for a run of it, or else its own."""
        return self.chosen.thread_id if self.chosen is not None else self.thread_id

    @property
    def run_thread_id(self) -> str:
        """The conversation that the run for its next slot enters."""
        return self.chosen.thread_id if self.chosen is not None and self.is_chosen else self.thread_id

    @property
    def status(self) -> ScheduleStatus:
        """The status: paused, finished without a next slot, or else active."""
        if self.paused:
            return ScheduleStatus.PAUSED
        return ScheduleStatus.FINISHED if self.next_at is None else ScheduleStatus.ACTIVE

    def list_slots(self) -> Iterator[Slot]:
        """Yield all its slots in order, those of the past too."""
        start = datetime.fromisoformat(self.start)
        if self.rule is None:
            slots: Iterator[Slot] = iter((Slot.on_clocks(start, self.zone),))
        else:
            slots = Recurrence.parse(self.rule).list_slots(start, self.zone)
        for slot in slots:
            if self.ends_at is not None and slot.at > self.ends_at:
                return
            yield slot

    def plan(self, now: datetime) -> Self:
        """Return the schedule with the first slot from ``now`` on as its next slot, or without one if none is left."""
        return self._with_next(next((slot for slot in self.list_slots() if slot.at >= now), None))

    def begin(self, now: datetime, run_id: str) -> Self:
        """Return the schedule whose run for its next slot begins at ``now``.

        Slots that have passed are skipped, so that it runs only once after an outage.
        """
        return replace(self.skip(now), last_at=now, last_run_id=run_id, runs=self.runs + 1)

    def skip(self, now: datetime) -> Self:
        """Return the schedule without its next slot: the first slot after it and after ``now`` becomes the next."""
        current = self.next_slot or ""
        following = (slot for slot in self.list_slots() if slot.local.isoformat() > current and slot.at > now)
        return self._with_next(next(following, None))

    def move(self, zone: str, now: datetime) -> Self:
        """Return the schedule with its times on the clocks of another zone. Slots that have run are not repeated."""
        moved = replace(self, zone=zone)
        if self.next_slot is None:
            return moved
        following = (slot for slot in moved.list_slots() if slot.local.isoformat() >= self.next_slot)
        return moved._with_next(next(following, None))

    def pause(self) -> Self:
        """Return the paused schedule, which has no next slot."""
        return replace(self, paused=True, next_slot=None, next_at=None)

    def resume(self, now: datetime) -> Self:
        """Return the resumed schedule with its next slot. Raises ``InvalidRequest`` if there is none."""
        resumed = replace(self, paused=False).plan(now)
        if resumed.next_at is None:
            raise InvalidRequest("The time of this schedule has passed while it was paused. Send a new `at` or `rule`.")
        return resumed

    def make_source(self, now: datetime) -> RunSource:
        """Return the cause of the run for the next slot, if the run begins at ``now``."""
        source = RunSource(CauseKind.SCHEDULE, self.id)
        return source.begin(now, self.next_at) if self.next_at is not None else source

    def make_scope(self, owner: Scope) -> Scope:
        """Return the scope of its runs: the owner's, with the permissions of its maker."""
        return Scope(owner.tenant_id, owner.user_id, frozenset(self.permissions), name=self.user_name)

    @property
    def message_id(self) -> str:
        """The id of the message with which the run for its next slot begins, so that the run begins only once."""
        return str(uuid.uuid5(uuid.UUID(self.run_thread_id), f"schedule\0{self.id}\0{self.next_slot}"))

    def _with_next(self, slot: Slot | None) -> Self:
        return replace(
            self,
            next_slot=slot.local.isoformat() if slot is not None else None,
            next_at=slot.at if slot is not None else None,
        )


@dataclass(frozen=True, slots=True)
class OwnedSchedule:
    """A schedule with the id of its user."""

    user_id: str
    schedule: Schedule


def derive_user_place(user_id: str) -> str:
    """Return the sort key of a user among those of their tenant with schedules: a digest, because ids may be long."""
    return hashlib.sha256(user_id.encode()).hexdigest()[:32]


def parse_start(text: str, zone: str, now: datetime) -> str:
    """Return an ISO 8601 time as a schedule's ``start``. A time without an offset is on the zone's clocks already.

    Raises ``InvalidRequest`` if ``text`` is not a time, or more than ``HORIZON`` away from ``now``.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest("at must be an ISO 8601 time such as 2027-03-14T09:00 or 2027-03-14T09:00:00Z.") from None
    local = moment.replace(microsecond=0)
    try:
        if moment.tzinfo is not None:
            local = convert_to_zone(zone, moment.replace(microsecond=0)).replace(tzinfo=None)
        local_now = convert_to_zone(zone, now).replace(tzinfo=None)
        is_near = abs(local - local_now) <= HORIZON
    except OverflowError:
        is_near = False
    if not is_near:
        raise InvalidRequest(f"at must be within {HORIZON.days // 366} years.")
    return local.isoformat()


def write_start(zone: str, now: datetime) -> str:
    """Return ``now`` as a schedule's ``start``, to the second."""
    return convert_to_zone(zone, now.astimezone(UTC)).replace(tzinfo=None, microsecond=0).isoformat()
