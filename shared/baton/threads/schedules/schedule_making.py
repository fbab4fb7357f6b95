"""The schedules that users and agents make, list, change and cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Literal

from baton.concurrency.tasks import off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import (
    AgentMismatch,
    InvalidRequest,
    LimitReached,
    NotFound,
    StoreUnavailable,
    ThreadUnavailable,
)
from baton.domain.schedules.recurrence import Recurrence, normalise_rule
from baton.domain.schedules.schedule import (
    MAX_TEXT,
    USER_ZONE,
    OwnedSchedule,
    Schedule,
    ScheduleStatus,
    parse_start,
    write_start,
)
from baton.domain.tenants.identity import MAX_MESSAGE_ID, Permission, Scope, ThreadRef, derive_thread_ref, is_printable
from baton.domain.threads.thread import Thread
from baton.domain.times import DEFAULT_ZONE, is_time_zone
from baton.ports.clock import Clock, TimeZones
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.schedules import Schedules
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.requests.thread_access import get_own_thread, refusals_audited
from baton.threads.schedules.due_starts import DueStarts
from baton.threads.schedules.schedule_lists import make_rank

COMPARED_SLOTS = 60
"""The number of slots of a new rule whose distances are compared with the agent's minimum."""
RULE_COST = 400_000
"""The size that ``off_loop`` gets, because computing a rule's slots takes as long as that many characters of text."""
ATTEMPTS = 8
"""Attempts at a change while others change the same schedule."""
MAX_FINISHED = 100
"""The most finished schedules of a user. Beyond that, those whose last run was longest ago are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRequest:
    """A schedule to make, as a caller asks for it."""

    text: str
    """The message with which each run begins."""
    at: str | None = None
    """The first time, as ISO 8601, with an offset or on the clocks of the zone; None with a rule: now."""
    rule: str | None = None
    """The rule of RFC 5545 by which the schedule repeats; None for a single run."""
    time_zone: str | None = None
    """The name of a zone, ``USER_ZONE`` to follow the user, or None for the zone that the user was in last."""
    ends_at: datetime | None = None
    id: str | None = None
    """None for a new id."""
    agent_id: str | None = None
    """The main agent of a new conversation; None for the default agent."""
    thread: ThreadRef | None = None
    """The conversation that the runs enter; None for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChange:
    """A change of a schedule. A field that is None stays as it is."""

    text: str | None = None
    at: str | None = None
    rule: str | None = None
    paused: bool | None = None


@dataclass(frozen=True, slots=True)
class ScheduleMaking:
    """The schedules of users, for their owners and for those who manage the tenant's schedules."""

    schedules: Schedules
    store: ThreadStore
    agents: AgentRegistry
    zones: TimeZones
    starts: DueStarts
    audit: AuditLog
    clock: Clock

    async def create(
        self, scope: Scope, request: ScheduleRequest, *, created_by: Literal["user", "agent"] = "user"
    ) -> tuple[Schedule, bool]:
        """Make a schedule for the caller. Return it and True, or the caller's earlier schedule with its id and False.

        Raises ``InvalidRequest``, ``UnknownAgent``, ``ThreadUnavailable``, ``AgentMismatch`` and ``LimitReached``.
        """
        schedule_id = request.id or self.clock.new_id()
        if not is_printable(schedule_id, MAX_MESSAGE_ID) or "/" in schedule_id or schedule_id in (".", ".."):
            raise InvalidRequest(f"id must be 1 to {MAX_MESSAGE_ID} printable characters without a slash.")
        if request.id is not None and (earlier_schedule := await self.schedules.get(scope, schedule_id)) is not None:
            return earlier_schedule, False
        # A schedule without a conversation gets a new one, which its first run begins.
        thread = request.thread or derive_thread_ref(scope, f"schedule/{schedule_id}")
        agent = await self._find_agent(scope, thread, request.agent_id)
        own_schedules = await self.schedules.of_user(scope)
        unfinished_count = sum(schedule.status is not ScheduleStatus.FINISHED for schedule in own_schedules)
        if unfinished_count >= agent.schedules.max_per_user:
            raise LimitReached(
                f"You have {unfinished_count} schedules, as many as this agent allows. Cancel one to make another."
            )
        now, zone = self.clock.now(), await self._find_zone(scope, request.time_zone)
        schedule = Schedule(
            id=schedule_id,
            agent_id=agent.id,
            thread_id=thread.id,
            text=_check_text(request.text),
            start=parse_start(request.at, zone, now) if request.at is not None else write_start(zone, now),
            rule=_check_rule(request.rule, request.at),
            zone=zone,
            # A moment stays the same wherever the user is.
            follows_user=request.time_zone == USER_ZONE and not _is_moment(request.at, request.rule),
            ends_at=request.ends_at,
            created_at=now,
            created_by=created_by,
            permissions=tuple(sorted(scope.permissions)),
            user_name=scope.name,
        )
        planned_schedule = await self._plan(schedule, agent, now)
        stored_schedule = await self.schedules.add(scope, planned_schedule, is_first=not own_schedules)
        is_new = stored_schedule == planned_schedule
        if is_new:
            await self._remove_oldest_finished(scope, own_schedules)
            detail = {"scheduleId": stored_schedule.id, "agentId": agent.id, "createdBy": created_by}
            await self.audit.record(scope, "schedule.create", thread_id=thread.id, outcome="created", detail=detail)
            await self.starts.announce_next(scope, stored_schedule)
        return stored_schedule, is_new

    async def create_by_agent(
        self, scope: Scope, schedule_id: str, thread_id: str, *, text: str, at: str | None, rule: str | None
    ) -> Schedule:
        """Make a schedule in a conversation at its agent's request: once for each id, and in the user's time zone.

        Raises as ``create`` does.
        """
        request = ScheduleRequest(
            id=schedule_id,
            thread=ThreadRef(thread_id, may_create=False),
            text=text,
            at=at,
            rule=rule,
            time_zone=USER_ZONE,
        )
        schedule, _ = await self.create(scope, request, created_by="agent")
        return schedule

    async def list_schedules(self, scope: Scope, *, status: ScheduleStatus | None = None) -> Sequence[Schedule]:
        """Return the caller's schedules, the next slot first. Schedules without a further slot come last."""
        schedules = await self.schedules.of_user(scope)
        matching_schedules = [schedule for schedule in schedules if status in (None, schedule.status)]
        return sorted(matching_schedules, key=make_rank)

    async def get(self, scope: Scope, schedule_id: str, *, owner_id: str | None = None) -> OwnedSchedule:
        """Return a schedule of the caller, or of the named user for those who manage the tenant's.

        Raises ``NotFound`` and ``Forbidden``.
        """
        owner = _find_owner(scope, owner_id, "schedule.read")
        schedule = await self._get(owner, schedule_id)
        if owner is not scope:
            await self._record(scope, owner, schedule, "schedule.read", "allowed")
        return OwnedSchedule(owner.user_id, schedule)

    async def change(
        self, scope: Scope, schedule_id: str, change: ScheduleChange, *, owner_id: str | None = None
    ) -> OwnedSchedule:
        """Change a schedule of the caller; those who manage the tenant's may pause and resume any.

        Raises ``NotFound``, ``InvalidRequest``, ``Forbidden``, ``UnknownAgent`` for a new time or rule of an agent that
        no longer exists, and ``StoreUnavailable`` if others change the schedule again and again.
        """
        owner = _find_owner(scope, owner_id, "schedule.change")
        if owner is not scope and change != ScheduleChange(paused=change.paused):
            raise InvalidRequest("Only its user can change a schedule's `text`, `at` and `rule`. Send `paused` only.")
        for _ in range(ATTEMPTS):
            schedule = await self._get(owner, schedule_id)
            changed_schedule = await self._change(owner, schedule, change)
            if changed_schedule == schedule:
                return OwnedSchedule(owner.user_id, schedule)
            changed_schedule = replace(changed_schedule, revision=schedule.revision + 1)
            if await self.schedules.replace(owner, changed_schedule):
                await self._record(scope, owner, changed_schedule, "schedule.change", "changed")
                await self.starts.announce_next(owner, changed_schedule)
                return OwnedSchedule(owner.user_id, changed_schedule)
            await asyncio.sleep(0)
        raise StoreUnavailable

    async def remove(self, scope: Scope, schedule_id: str, *, owner_id: str | None = None) -> None:
        """Cancel a schedule of the caller, or of the named user for those who manage the tenant's.

        A run of the schedule that has begun goes on. Raises ``NotFound`` and ``Forbidden``.
        """
        owner = _find_owner(scope, owner_id, "schedule.cancel")
        schedule = await self._get(owner, schedule_id)
        await self.schedules.remove(owner, schedule_id)
        await self._record(scope, owner, schedule, "schedule.cancel", "cancelled")

    async def _get(self, owner: Scope, schedule_id: str) -> Schedule:
        schedule = await self.schedules.get(owner, schedule_id)
        if schedule is None:
            raise NotFound("There is no such schedule.")
        return schedule

    async def _change(self, scope: Scope, schedule: Schedule, change: ScheduleChange) -> Schedule:
        """Return the schedule with the change, and with a new first slot if its times change."""
        now, changed_schedule = self.clock.now(), schedule
        if change.text is not None:
            changed_schedule = replace(changed_schedule, text=_check_text(change.text))
        if change.at is not None:
            changed_schedule = replace(changed_schedule, start=parse_start(change.at, changed_schedule.zone, now))
        if change.rule is not None:
            changed_schedule = replace(changed_schedule, rule=_check_rule(change.rule, changed_schedule.start))
        if _is_moment(change.at, changed_schedule.rule):
            changed_schedule = replace(changed_schedule, follows_user=False)
        if change.at is not None or change.rule is not None:
            agent = await self.agents.get(scope, schedule.agent_id)
            changed_schedule = await self._plan(replace(changed_schedule, paused=False), agent, now)
            changed_schedule = changed_schedule.pause() if schedule.paused else changed_schedule
        if change.paused is not None and change.paused != changed_schedule.paused:
            changed_schedule = changed_schedule.pause() if change.paused else changed_schedule.resume(now)
        return changed_schedule

    async def _plan(self, schedule: Schedule, agent: AgentDefinition, now: datetime) -> Schedule:
        """Return the schedule with its first slot. Raises ``InvalidRequest`` if it has none, or too many."""
        planned_schedule, slots = await off_loop(
            RULE_COST, lambda: (schedule.plan(now), list(islice(schedule.list_slots(), COMPARED_SLOTS)))
        )
        if planned_schedule.next_at is None:
            raise InvalidRequest(
                "at: this time has passed." if schedule.rule is None else "rule: it has no time to come."
            )
        min_distance = timedelta(minutes=agent.schedules.min_interval_minutes)
        # Local times are compared, so that a day on which the clocks go forward counts as a whole one.
        if any(after.local - before.local < min_distance for before, after in pairwise(slots)):
            raise InvalidRequest(
                f"rule: this agent allows one run in {agent.schedules.min_interval_minutes} minutes at most."
            )
        return planned_schedule

    async def _find_agent(self, scope: Scope, thread: ThreadRef, agent_id: str | None) -> AgentDefinition:
        """Return the agent of the schedule's conversation.

        Raises ``InvalidRequest`` if it allows no schedules, ``ThreadUnavailable`` (audited), ``AgentMismatch`` and
        ``UnknownAgent``.
        """
        current: Thread | None = None
        async with refusals_audited(self.audit, scope, thread.id, "schedule.create"):
            try:
                current = await get_own_thread(self.store, scope, thread.id)
            except ThreadUnavailable as unavailable:
                if not (unavailable.is_unused and thread.may_create):
                    raise
        if current is None:
            agent = await self.agents.for_new_thread(scope, agent_id)
        elif agent_id not in (None, current.agent_id):
            raise AgentMismatch
        else:
            agent = await self.agents.get_in_session(scope, current, current.agent_id)
        if not agent.schedules.allowed:
            raise InvalidRequest(
                f"The agent {agent.id} takes no schedules. Its definition would say `schedules: allowed`."
            )
        return agent

    async def _find_zone(self, scope: Scope, time_zone: str | None) -> str:
        """Return the requested zone, or the one that the user was in last. Raises ``InvalidRequest``."""
        if time_zone is not None and time_zone != USER_ZONE:
            if not is_time_zone(time_zone):
                raise InvalidRequest(
                    f"timeZone: there is no time zone {time_zone[:64]!r}; use a name such as Europe/Vienna."
                )
            return time_zone
        last = await self.zones.last(scope)
        return last.name if last is not None else DEFAULT_ZONE

    async def _remove_oldest_finished(self, scope: Scope, own: Sequence[Schedule]) -> None:
        """Remove the oldest finished schedules beyond ``MAX_FINISHED``."""
        finished_schedules = [schedule for schedule in own if schedule.status is ScheduleStatus.FINISHED]
        finished_schedules.sort(key=lambda schedule: schedule.last_at or schedule.created_at)
        for schedule in finished_schedules[: max(0, len(finished_schedules) - MAX_FINISHED)]:
            await self.schedules.remove(scope, schedule.id)

    async def _record(self, scope: Scope, owner: Scope, schedule: Schedule, action: str, outcome: str) -> None:
        detail = {"scheduleId": schedule.id} | ({"userId": owner.user_id} if owner is not scope else {})
        await self.audit.record(scope, action, thread_id=schedule.thread_id, outcome=outcome, detail=detail)


def _find_owner(scope: Scope, owner_id: str | None, action: str) -> Scope:
    """Return the scope of the caller, or of the user ``owner_id``, who need not exist. Raises ``Forbidden``."""
    if owner_id in (None, scope.user_id):
        return scope
    scope.require(Permission.SCHEDULE_MANAGE, action)
    return Scope(scope.tenant_id, str(owner_id))


def _is_moment(at: str | None, rule: str | None) -> bool:
    """Return whether a valid ``at``, without a rule, is a moment: a time with an offset."""
    return rule is None and at is not None and datetime.fromisoformat(at).tzinfo is not None


def _check_text(text: str) -> str:
    if not text.strip() or len(text) > MAX_TEXT:
        raise InvalidRequest(f"text must be 1 to {MAX_TEXT} characters.")
    return text


def _check_rule(rule: str | None, at: str | None) -> str | None:
    if rule is None:
        if at is None:
            raise InvalidRequest("Send `at`, or a `rule`.")
        return None
    Recurrence.parse(rule)
    return normalise_rule(rule)
