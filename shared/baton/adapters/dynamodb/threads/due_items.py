"""Schedules in their users' partitions, tasks in their threads' partitions, and the index of due items by time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import create_revised, save_revised
from baton.adapters.dynamodb.shapes import BACKGROUND_TASK, SCHEDULE
from baton.adapters.dynamodb.shards import read_due_entries
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.domain.schedules.background_task import LISTING_TIME, BackgroundTask
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.schedule import Schedule, ScheduleStatus
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import QueuedMessage, parse_queued
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.schedules import DueSchedule, DueTask, LaterRun

KEPT_AFTER_ITS_END = timedelta(days=30)
"""The time for which a finished schedule is kept."""


class DynamoSchedules(TimedTableStore):
    """``Schedules`` on the conversation table."""

    async def add(self, scope: Scope, schedule: Schedule, *, is_first: bool = True) -> Schedule:
        if is_first:  # before the schedule, so that the tenant's list names everybody who has one
            await note_scheduler(self._table, scope)
        item = self._make_item(scope, schedule)
        stored = await create_revised(self._table, item)
        return _to_schedule(stored) if stored != item else schedule

    async def get(self, scope: Scope, schedule_id: str) -> Schedule | None:
        return await self._table.read(keys.schedule(scope, schedule_id), _to_schedule)

    async def of_user(self, scope: Scope) -> Sequence[Schedule]:
        items = await self._table.read_all(keys.user_listing(scope), prefix=keys.SCHEDULE)
        return sorted(map(_to_schedule, items), key=lambda schedule: (schedule.created_at, schedule.id))

    async def users(self, scope: Scope, *, first: str = "") -> AsyncGenerator[str, None]:
        first_key, last_key = f"{keys.SCHEDULER}{first}", f"{keys.SCHEDULER}~"
        async with aclosing(self._table.query(keys.schedulers(scope), first=first_key, last=last_key)) as pages:
            async for page in pages:
                for item in page:
                    yield item["user_id"]

    async def replace(self, scope: Scope, schedule: Schedule) -> bool:
        return await save_revised(self._table, self._make_item(scope, schedule))

    async def remove(self, scope: Scope, schedule_id: str) -> bool:
        return await self._table.delete(keys.schedule(scope, schedule_id), condition="attribute_exists(PK)")

    def make_entry(self, scope: Scope, schedule: Schedule) -> DueEntry | None:
        key = keys.schedule(scope, schedule.id)
        return (
            DueEntry(partition=key["PK"], sort=key["SK"], at=schedule.next_at) if schedule.next_at is not None else None
        )

    def _make_item(self, scope: Scope, schedule: Schedule) -> Item:
        return {
            **keys.schedule(scope, schedule.id),
            "owner_id": scope.user_id,
            "body": SCHEDULE.pack(schedule),
            "revision": schedule.revision,
            # Erasure decides by this time what to keep for a user.
            "changed_at": to_millis(self._clock.now()),
            **(_make_due_attributes(schedule.id, schedule.next_at) if schedule.next_at is not None else {}),
            **self._make_lifetime(schedule),
        }

    def _make_lifetime(self, schedule: Schedule) -> Item:
        if schedule.status is not ScheduleStatus.FINISHED:
            return {}
        return {"expires_at": int((self._clock.now() + KEPT_AFTER_ITS_END).timestamp())}


class DynamoBackgroundTasks(TimedTableStore):
    """``BackgroundTasks`` on the conversation table, in the partitions of their threads."""

    async def add(self, scope: Scope, thread_id: str, task: BackgroundTask) -> BackgroundTask:
        return _to_task(await create_revised(self._table, self._make_item(scope, thread_id, task)))

    async def get(self, scope: Scope, thread_id: str, task_id: str) -> BackgroundTask | None:
        return await self._table.read(keys.background_task(scope, thread_id, task_id), _to_task)

    async def find(self, tenant_id: str, thread_id: str, task_id: str) -> tuple[Scope, BackgroundTask] | None:
        item = await self._table.get(keys.background_task(Scope(tenant_id, "-"), thread_id, task_id))
        return (Scope(tenant_id, item["owner_id"]), _to_task(item)) if item is not None else None

    async def remove(self, scope: Scope, thread_id: str, task_id: str) -> None:
        await self._table.delete(keys.background_task(scope, thread_id, task_id))

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[BackgroundTask]:
        items = await self._table.read_all(keys.partition(scope, thread_id), prefix=keys.background_task.prefix)
        return sorted(map(_to_task, items), key=lambda task: (task.started_at, task.id), reverse=True)

    async def replace(self, scope: Scope, thread_id: str, task: BackgroundTask) -> bool:
        return await save_revised(self._table, self._make_item(scope, thread_id, task))

    def _make_item(self, scope: Scope, thread_id: str, task: BackgroundTask) -> Item:
        return {
            **keys.background_task(scope, thread_id, task.id),
            "owner_id": scope.user_id,
            "body": BACKGROUND_TASK.pack(task),
            "revision": task.revision,
            **(_make_due_attributes(task.id, task.check_at) if task.check_at is not None else {}),
            **({"expires_at": int((task.ended_at + LISTING_TIME).timestamp())} if task.ended_at is not None else {}),
        }


class DynamoDueItems(TimedTableStore):
    """``DueItems`` on the conversation table, by the index ``idle``."""

    async def before(self, moment: datetime) -> AsyncGenerator[Sequence[DueEntry], None]:
        async with aclosing(read_due_entries(self._table, keys.due_shards(), moment)) as pages:
            async for page in pages:
                yield [
                    DueEntry(partition=item["PK"], sort=item["SK"], at=from_millis(item["idle_check_at"]))
                    for item in page
                ]

    async def load(self, entry: DueEntry) -> DueSchedule | DueTask | LaterRun | None:
        item = await self._table.get({"PK": entry.partition, "SK": entry.sort})
        if item is None or item.get("idle_check_at") != to_millis(entry.at):
            return None
        if entry.sort.startswith(keys.SCHEDULE):
            tenant_id = entry.partition.partition("#")[0]
            return DueSchedule(Scope(tenant_id, item["owner_id"]), _to_schedule(item))
        if entry.sort.startswith(keys.background_task.prefix):
            tenant_id, _, thread_id = entry.partition.partition("#")
            return DueTask(Scope(tenant_id, item["owner_id"]), thread_id, _to_task(item))
        return _to_later_run(item)

    async def of_thread(self, scope: Scope, thread_id: str) -> AsyncGenerator[LaterRun, None]:
        pages = self._table.query(keys.partition(scope, thread_id), prefix=keys.later_run.prefix)
        async with aclosing(pages):
            async for page in pages:
                for item in page:
                    yield _to_later_run(item)

    async def put_off(self, later: LaterRun) -> DueEntry:
        message = later.message
        key = keys.later_run(message.scope, message.thread_id, message.request.message_id)
        body = message.model_copy(update={"subject_token": None}).model_dump_json(by_alias=True)
        item = {**key, "body": body, **_make_due_attributes(message.request.message_id, later.at)}
        await self._table.put(item)
        return DueEntry(partition=key["PK"], sort=key["SK"], at=from_millis(item["idle_check_at"]))

    async def settle(self, later: LaterRun) -> None:
        message = later.message
        key = keys.later_run(message.scope, message.thread_id, message.request.message_id)
        await self._table.delete(key, condition="idle_check_at = :at", values={":at": to_millis(later.at)})


async def note_scheduler(table: Table, scope: Scope) -> None:
    """Add the user to the tenant's list of users with schedules."""
    await table.put({**keys.scheduler(scope), "user_id": scope.user_id})


def _make_due_attributes(member: str, moment: datetime) -> Item:
    """Return the attributes by which the index lists an item."""
    return {"idle_shard": keys.due_shards.of(member), "idle_check_at": to_millis(moment)}


def _to_later_run(item: Item) -> LaterRun:
    message = parse_queued(item["body"])
    assert isinstance(message, QueuedMessage)  # noqa: S101 - only messages are put off
    return LaterRun(from_millis(item["idle_check_at"]), message)


def _to_task(item: Item) -> BackgroundTask:
    task_id = item["SK"].removeprefix(keys.background_task.prefix)
    return BACKGROUND_TASK.unpack(item["body"], id=task_id, revision=item["revision"])


def _to_schedule(item: Item) -> Schedule:
    schedule_id = item["SK"].removeprefix(keys.SCHEDULE)
    return SCHEDULE.unpack(item["body"], id=schedule_id, revision=item["revision"])
