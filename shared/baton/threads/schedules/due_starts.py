"""The start of runs that begin by themselves: each due item becomes one message in its conversation's queue."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from baton.concurrency.tasks import call_until
from baton.domain.errors import (
    BatonError,
    ModelsStopped,
    RateLimited,
    SpendingLimitReached,
    TenantRemoved,
    WaitsForPeople,
)
from baton.domain.metrics import Metric, count
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.run_source import CauseKind
from baton.domain.schedules.schedule import Schedule
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id
from baton.domain.threads.queued import QueuedMessage
from baton.domain.threads.turn_requests import MessageRequest
from baton.domain.times import DEFAULT_ZONE
from baton.failures.reports import report_failure
from baton.ports.clock import Clock, TimeZones
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.schedules import DelayQueue, DueItems, DueSchedule, DueTask, LaterRun, Schedules
from baton.ports.threads.turn_queue import TurnQueue
from baton.threads.background.background_work import BackgroundWork
from baton.threads.requests.queue_mapping import make_queued_message
from baton.threads.schedules.later_runs import LaterRuns
from baton.threads.schedules.run_conversations import RunConversations

AHEAD = timedelta(seconds=90)
"""The time before a slot at which the queue gets its entry: more than the minute between two sweeps."""
EARLY = timedelta(seconds=1)
"""The time before a slot at which its run may begin: queues count in whole seconds, and clocks differ."""
CONCURRENT = 32
"""The number of due items that are handled at the same time."""
FIRST_PAUSE = timedelta(minutes=1)
"""The pause before the second attempt to begin a run. Each further pause is twice as long."""
MAX_PAUSE = timedelta(hours=1)
"""The longest pause between two attempts to begin a run, unless a refusal names a longer one."""
MAX_AGE = timedelta(days=8)
"""The time after which a run is dropped: more than a week, for which approvals are open by default."""


@dataclass(frozen=True, slots=True)
class DueStarts:
    """The starts of due runs. They may repeat and overlap: the fixed id of its message makes a run begin once."""

    items: DueItems
    later_runs: LaterRuns
    schedules: Schedules
    conversations: RunConversations
    queue: Callable[[], TurnQueue]
    """A function that returns the queue of turns. Code that only makes schedules does not call it."""
    delays: Callable[[], DelayQueue]
    zones: TimeZones
    audit: AuditLog
    clock: Clock
    background: Callable[[], BackgroundWork]

    async def sweep(self, *, seconds: float) -> int:
        """Begin the runs that are due, and queue those that will be due before the next sweep.

        Return the number of items that were handled within ``seconds``, failures included.
        """
        until, entry_count = self.clock.now() + AHEAD, 0

        async def begin(entry: DueEntry) -> None:
            nonlocal entry_count
            entry_count += 1
            try:
                await (self.start(entry) if entry.at <= self.clock.now() else self.announce(entry))
            except TenantRemoved:
                pass  # the tenant's items are about to be removed
            except Exception as failure:  # noqa: BLE001 - one item must not stop the others; it stays due
                report_failure(failure, "due item not started")
                count(Metric.SWEEP_FAILURES)

        deadline = asyncio.get_running_loop().time() + seconds
        await call_until(deadline, _list_entries(self.items.before(until)), begin, at_once=CONCURRENT)
        return entry_count

    async def announce(self, entry: DueEntry) -> None:
        """Have the queue deliver an entry at its time, if the next sweep may come too late for it."""
        ahead = entry.at - self.clock.now()
        if ahead <= AHEAD:
            await self.delays().send(entry, seconds=max(0, math.ceil(ahead.total_seconds())))

    async def start_queued(self, body: str) -> None:
        """Begin the run of a record of the delay queue. The record of a removed tenant is dropped.

        Raises ``StoreUnavailable``: then the queue delivers the record again.
        """
        with suppress(TenantRemoved):
            await self.start(DueEntry.model_validate_json(body))

    async def start(self, entry: DueEntry) -> None:
        """Begin the run of an entry, if it is still due. Raises ``StoreUnavailable``: then it stays due."""
        due, now = await self.items.load(entry), self.clock.now()
        if due is None:
            return
        if entry.at > now + EARLY:
            await self.announce(entry)  # the clock has stepped back
        elif isinstance(due, LaterRun):
            await self._begin_later(due, now)
        elif isinstance(due, DueTask):
            again_at = await self.background().check(due.owner, due.thread_id, due.task)
            if again_at is not None:
                await self.announce(entry.model_copy(update={"at": again_at}))
        else:
            await self._start_schedule(due, now)

    async def put_off_refused(self, message: QueuedMessage, refusal: BatonError) -> bool:
        """Keep a message whose run is refused now for a later time, and return True.

        A run of a schedule is skipped if another one waits. A message that would be refused again is dropped and
        audited, and False is returned.
        """
        if not isinstance(refusal, WaitsForPeople | RateLimited | SpendingLimitReached | ModelsStopped):
            await self._audit_run(message, "dropped", refusal)
            return False
        cause = message.request.begun_by
        if cause is not None and cause.kind is CauseKind.SCHEDULE and await self._has_other(message, cause.id):
            await self._record_slot(message.scope, message.thread_id, cause.id, "skipped")
            return True
        # A limit of spending may be raised long before it is reset.
        seconds = 0 if isinstance(refusal, SpendingLimitReached) else refusal.retry_after or 0
        if await self.put_off(message, timedelta(seconds=seconds)) and message.put_off == 0:
            await self._audit_run(message, "put_off", refusal)
        return True

    async def put_off(self, message: QueuedMessage, at_least: timedelta = timedelta()) -> bool:
        """Keep a message whose run cannot begin now for later, and return True.

        Each pause is twice the last pause, up to ``MAX_PAUSE``, and not shorter than ``at_least``. A message that was
        due ``MAX_AGE`` ago is dropped, and False is returned.
        """
        now = self.clock.now()
        due_at = message.due_at or now
        if now >= due_at + MAX_AGE:
            await self._audit_run(message, "dropped")
            return False
        pause = max(at_least, min(FIRST_PAUSE * 2 ** min(message.put_off, 20), MAX_PAUSE))
        later_message = message.model_copy(update={"put_off": message.put_off + 1, "due_at": due_at})
        await self.announce(await self.items.put_off(LaterRun(min(now + pause, due_at + MAX_AGE), later_message)))
        return True

    async def _begin_later(self, later: LaterRun, now: datetime) -> None:
        """Begin a run that waits.

        The run of a schedule states how late it is. It is skipped if the schedule is paused or no longer exists.
        """
        message = later.message
        cause = message.request.begun_by
        if cause is not None and cause.kind is CauseKind.SCHEDULE:
            schedule = await self.schedules.get(message.scope, cause.id)
            if schedule is None or schedule.paused:
                await self._record_slot(message.scope, message.thread_id, cause.id, "skipped")
                await self.items.settle(later)
                return
            if message.due_at is not None:
                request = replace(message.request, begun_by=cause.begin(now, message.due_at))
                later = replace(later, message=message.model_copy(update={"request": request}))
        await self.later_runs.begin(later)

    async def _has_other(self, message: QueuedMessage, schedule_id: str) -> bool:
        """Return whether another run of the message's schedule waits: one is enough."""
        return await self.later_runs.has_run_of(
            message.scope, message.thread_id, schedule_id, besides=message.request.message_id
        )

    async def _record_slot(self, owner: Scope, thread_id: str | None, schedule_id: str, outcome: str) -> None:
        """Audit that a slot of a schedule begins no run."""
        detail = {"scheduleId": schedule_id}
        await self.audit.record(owner, "schedule.run", thread_id=thread_id, outcome=outcome, detail=detail)

    async def _audit_run(self, message: QueuedMessage, outcome: str, refusal: BatonError | None = None) -> None:
        """Audit that a run does not begin, or not yet."""
        cause, detail = message.request.begun_by, {"messageId": message.request.message_id}
        detail |= cause.wire() if cause is not None else {}
        detail |= {"code": refusal.code, "reason": refusal.detail} if refusal is not None else {}
        if outcome == "dropped":
            count(Metric.RUNS_DROPPED)
        await self.audit.record(message.scope, "due.run", thread_id=message.thread_id, outcome=outcome, detail=detail)

    async def _start_schedule(self, due: DueSchedule, now: datetime) -> None:
        """Begin the run of a schedule's slot, skip it, or remove the schedule; otherwise store the next slot."""
        schedule = due.schedule
        if schedule.follows_user:
            last = await self.zones.last(due.owner)
            zone = last.name if last is not None else DEFAULT_ZONE
            if zone != schedule.zone:
                schedule = schedule.move(zone, now)
                if schedule.next_at is None or schedule.next_at > now + EARLY:
                    await self._store_next(due.owner, schedule)
                    return
        if schedule.runs and await self.later_runs.has_run_of(
            schedule.make_scope(due.owner), schedule.last_thread_id, schedule.id, besides=schedule.message_id
        ):
            await self._record_slot(due.owner, schedule.last_thread_id, schedule.id, "skipped")
            await self._store_next(due.owner, schedule.skip(now))
            return
        chosen_schedule = await self.conversations.choose(due.owner, schedule)
        if chosen_schedule is None:
            return
        schedule, scope = chosen_schedule, chosen_schedule.make_scope(due.owner)
        if await self.conversations.is_forgotten(scope, schedule.run_thread_id):
            await self.schedules.remove(due.owner, schedule.id)
            await self._record_slot(due.owner, None, schedule.id, "dropped")
            return
        message_id = schedule.message_id
        request = MessageRequest(
            ThreadRef(schedule.run_thread_id, may_create=True),
            message_id,
            derive_run_id(schedule.run_thread_id, message_id),
            schedule.text,
            agent_id=schedule.agent_id,
            begun_by=schedule.make_source(now),
        )
        message = make_queued_message(scope, request, request_id=message_id)
        await self.queue().send(scope, message.model_copy(update={"due_at": schedule.next_at}))
        _count_start(schedule, now)
        await self._store_next(due.owner, schedule.begin(now, request.run_id))

    async def _store_next(self, owner: Scope, schedule: Schedule) -> None:
        """Store a schedule's next slot. If somebody has changed the schedule since it was read, it stays due."""
        changed_schedule = replace(schedule, revision=schedule.revision + 1)
        if await self.schedules.replace(owner, changed_schedule):
            await self.announce_next(owner, changed_schedule)

    async def announce_next(self, owner: Scope, schedule: Schedule) -> None:
        """Have the queue deliver a schedule's next slot, if the slot is due soon."""
        entry = self.schedules.make_entry(owner, schedule)
        if entry is not None:
            await self.announce(entry)


def _count_start(schedule: Schedule, now: datetime) -> None:
    if schedule.next_at is not None:
        count(Metric.TIME_TO_START, max(0, round((now - schedule.next_at).total_seconds() * 1000)))
    if schedule.make_source(now).late is not None:
        count(Metric.RUNS_LATE)


async def _list_entries(pages: AsyncGenerator[Sequence[DueEntry], None]) -> AsyncIterator[DueEntry]:
    async with aclosing(pages) as entry_pages:
        async for page in entry_pages:
            for entry in page:
                yield entry
