"""Schedules and due items: what every store does about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from baton.domain.schedules.background_task import BackgroundKind, BackgroundStatus, BackgroundTask
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.schedules.schedule import Schedule, SlotConversation, derive_user_place
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id
from baton.domain.threads.queued import QueuedMessage
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.threads.schedules import DueSchedule, DueTask, LaterRun
from baton.threads.requests.queue_mapping import make_queued_message
from tests.contracts.stores import Stores, new_thread_id


def new_schedule(now: datetime, name: str = "water", *, hours: float | None = 1, **fields: Any) -> Schedule:
    """A reminder whose slot is some hours from now; without ``hours`` it has none."""
    at = now + timedelta(hours=hours) if hours is not None else None
    defaults = {
        "agent_id": "assistant",
        "thread_id": new_thread_id(),
        "text": "Water the plants.",
        "start": "2040-03-01T13:00:00",
        "zone": "Europe/Vienna",
        "created_at": now,
        "created_by": "user",
        "permissions": ("plants:water",),
        "chosen": SlotConversation("2040-02-29T13:00:00", new_thread_id()),
        "next_slot": "2040-03-01T13:00:00" if at is not None else None,
        "next_at": at,
    }
    return Schedule(id=name, **(defaults | fields))


def schedule(stores: Stores, name: str = "water", *, hours: float | None = 1, **fields: Any) -> Schedule:
    """A reminder of ada's."""
    return new_schedule(stores.clock.now(), name, hours=hours, **fields)


def event(stores: Stores) -> QueuedMessage:
    """A message that has begun no run yet."""
    thread_id = new_thread_id()
    source = RunSource(CauseKind.EVENT, "e1", type="order.shipped")
    request = MessageRequest(
        ThreadRef(thread_id, may_create=True), "m1", derive_run_id(thread_id, "m1"), "It has left.", begun_by=source
    )
    return make_queued_message(stores.ada, request, request_id="m1")


async def due(stores: Stores, before: datetime) -> list[DueEntry]:
    """The items of this test's tenant that are due before a time."""
    pages: list[Sequence[DueEntry]] = [page async for page in stores.due_items.before(before)]
    return [entry for page in pages for entry in page if entry.partition.startswith(f"{stores.ada.tenant_id}#")]


class SchedulesContract:
    """Schedules of users."""

    async def test_a_schedule_is_kept_as_it_was_made(self, stores: Stores) -> None:
        stored = schedule(stores, rule="FREQ=DAILY", ends_at=stores.clock.now(), user_name="Ada", follows_user=True)
        assert await stores.schedules.add(stores.ada, stored) == stored
        assert await stores.schedules.get(stores.ada, "water") == stored
        assert await stores.schedules.of_user(stores.ada) == [stored]

    async def test_the_first_schedule_with_an_id_stays(self, stores: Stores) -> None:
        stored = await stores.schedules.add(stores.ada, schedule(stores))
        assert await stores.schedules.add(stores.ada, schedule(stores, text="Another.")) == stored
        assert await stores.schedules.get(stores.ada, "water") == stored

    async def test_a_new_schedule_is_what_was_given_also_with_microseconds(self, stores: Stores) -> None:
        moment = stores.clock.now() + timedelta(microseconds=1)
        stored = schedule(stores, created_at=moment, ends_at=moment)
        assert await stores.schedules.add(stores.ada, stored) == stored, "its maker compares them"

    async def test_a_schedule_is_of_its_user_only(self, stores: Stores) -> None:
        await stores.schedules.add(stores.ada, schedule(stores))
        bob = replace(stores.ada, user_id="bob")
        for other in (bob, stores.stranger):
            assert await stores.schedules.get(other, "water") is None
            assert await stores.schedules.of_user(other) == []
            assert not await stores.schedules.remove(other, "water")
        await stores.schedules.add(bob, schedule(stores))
        await stores.schedules.add(bob, schedule(stores, "second"), is_first=False)
        users = [user async for user in stores.schedules.users(stores.ada)]
        assert users == sorted([stores.ada.user_id, "bob"], key=derive_user_place)
        assert [user async for user in stores.schedules.users(stores.ada, first=derive_user_place(users[1]))] == users[
            1:
        ]
        assert [user async for user in stores.schedules.users(stores.stranger)] == []

    async def test_a_change_replaces_the_revision_before_its_own(self, stores: Stores) -> None:
        stored = await stores.schedules.add(stores.ada, schedule(stores))
        mine = replace(stored, text="Mine.", revision=2)
        assert await stores.schedules.replace(stores.ada, mine)
        assert await stores.schedules.replace(stores.ada, mine), "the response may have been lost"
        assert not await stores.schedules.replace(stores.ada, replace(stored, text="Yours.", revision=2))
        assert await stores.schedules.get(stores.ada, "water") == mine

    async def test_a_removed_schedule_is_gone(self, stores: Stores) -> None:
        stored = await stores.schedules.add(stores.ada, schedule(stores))
        assert await stores.schedules.remove(stores.ada, "water")
        assert not await stores.schedules.remove(stores.ada, "water")
        assert await stores.schedules.get(stores.ada, "water") is None
        assert not await stores.schedules.replace(stores.ada, replace(stored, revision=2))
        assert await due(stores, stores.clock.now() + timedelta(days=1)) == []


def new_background_task(now: datetime, name: str = "t1", **fields: Any) -> BackgroundTask:
    """A task that is looked at in a minute."""
    described = {
        "kind": BackgroundKind.AGENT,
        "name": "researcher",
        "agent_id": "assistant",
        "message": "Find out.",
        "started_at": now,
        "expires_at": now + timedelta(hours=24),
        "permissions": ("archive:read",),
        "check_at": now + timedelta(minutes=1),
    }
    return BackgroundTask(id=name, **(described | fields))


def background_task(stores: Stores, name: str = "t1", **fields: Any) -> BackgroundTask:
    """A task of ada's that is looked at in a minute."""
    return new_background_task(stores.clock.now(), name, **fields)


class BackgroundTasksContract:
    """Tasks in the background of conversations."""

    async def test_a_task_is_kept_as_it_was_begun(self, stores: Stores) -> None:
        thread_id, task = new_thread_id(), background_task(stores, location="https://a.example/1", token="secret")
        assert await stores.background_tasks.add(stores.ada, thread_id, task) == task
        assert await stores.background_tasks.add(stores.ada, thread_id, replace(task, message="Again.")) == task
        assert await stores.background_tasks.get(stores.ada, thread_id, "t1") == task
        assert await stores.background_tasks.get(stores.stranger, thread_id, "t1") is None
        assert await stores.background_tasks.get(stores.ada, new_thread_id(), "t1") is None

    async def test_tasks_are_listed_with_the_newest_first(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for hours, name in ((1, "first"), (3, "third"), (2, "second")):
            started_at = stores.clock.now() + timedelta(hours=hours)
            await stores.background_tasks.add(
                stores.ada, thread_id, background_task(stores, name, started_at=started_at)
            )
        listed = await stores.background_tasks.of_thread(stores.ada, thread_id)
        assert [task.id for task in listed] == ["third", "second", "first"]

    async def test_an_open_task_is_due_for_a_look_and_an_ended_one_is_not(self, stores: Stores) -> None:
        thread_id, task = new_thread_id(), background_task(stores)
        await stores.background_tasks.add(stores.ada, thread_id, task)
        [entry] = await due(stores, stores.clock.now() + timedelta(minutes=2))
        owner = Scope(stores.ada.tenant_id, stores.ada.user_id)
        assert await stores.due_items.load(entry) == DueTask(owner, thread_id, task)
        ended_task = replace(task.end(BackgroundStatus.COMPLETED, stores.clock.now(), "r2"), revision=2)
        assert await stores.background_tasks.replace(stores.ada, thread_id, ended_task)
        assert not await stores.background_tasks.replace(stores.ada, thread_id, replace(task, progress="2", revision=2))
        assert await stores.due_items.load(entry) is None
        assert await due(stores, stores.clock.now() + timedelta(days=3)) == []
        assert await stores.background_tasks.get(stores.ada, thread_id, "t1") == ended_task


class DueItemsContract:
    """Items that are due at a time."""

    async def test_schedules_are_due_at_their_next_slot(self, stores: Stores) -> None:
        now = stores.clock.now()
        first = await stores.schedules.add(stores.ada, schedule(stores, "first", hours=1))
        await stores.schedules.add(stores.ada, schedule(stores, "later", hours=3))
        await stores.schedules.add(stores.ada, schedule(stores, "never", hours=None))
        assert await due(stores, now) == []
        [entry] = await due(stores, now + timedelta(hours=2))
        assert entry == stores.schedules.make_entry(stores.ada, first)
        owner = Scope(stores.ada.tenant_id, stores.ada.user_id)
        assert await stores.due_items.load(entry) == DueSchedule(owner, first)

    async def test_what_has_moved_or_gone_is_not_due_at_the_former_time(self, stores: Stores) -> None:
        stored = await stores.schedules.add(stores.ada, schedule(stores))
        entry = stores.schedules.make_entry(stores.ada, stored)
        assert entry is not None
        moved = replace(stored, next_at=stores.clock.now() + timedelta(hours=5), revision=2)
        await stores.schedules.replace(stores.ada, moved)
        assert await stores.due_items.load(entry) is None
        await stores.schedules.replace(stores.ada, replace(moved.pause(), revision=3))
        assert await due(stores, stores.clock.now() + timedelta(days=1)) == []
        await stores.schedules.remove(stores.ada, "water")
        assert await stores.due_items.load(entry) is None

    async def test_a_message_that_was_put_off_waits_for_the_last_time_that_it_was_given(self, stores: Stores) -> None:
        message, soon = event(stores), stores.clock.now() + timedelta(minutes=1)
        first = await stores.due_items.put_off(LaterRun(soon, message))
        later = LaterRun(soon + timedelta(minutes=2), message.model_copy(update={"put_off": 2}))
        second = await stores.due_items.put_off(later)
        assert await due(stores, soon + timedelta(hours=1)) == [second]
        assert await stores.due_items.load(first) is None
        assert await stores.due_items.load(second) == later
        assert [later_run async for later_run in stores.due_items.of_thread(stores.ada, message.thread_id)] == [later]
        assert [later_run async for later_run in stores.due_items.of_thread(stores.ada, new_thread_id())] == []
        await stores.due_items.settle(LaterRun(soon, message))
        assert await stores.due_items.load(second) == later, "only the start of the former time was settled"
        await stores.due_items.settle(later)
        assert await due(stores, soon + timedelta(hours=1)) == []
