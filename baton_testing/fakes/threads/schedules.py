"""Schedules and due items in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.schedule import Schedule, derive_user_place
from baton.domain.tenants.identity import Scope
from baton.ports.threads.schedules import DueSchedule, DueTask, LaterRun

Owner = tuple[str, str]


class FakeSchedules:
    """``ports.threads.schedules.Schedules``."""

    def __init__(self) -> None:
        self.stored: dict[Owner, dict[str, Schedule]] = {}
        """Schedules by their ids, by tenant and user."""
        self._users: dict[Owner, None] = {}

    async def add(self, scope: Scope, schedule: Schedule, *, is_first: bool = True) -> Schedule:
        if is_first:
            self._users[_make_owner(scope)] = None
        return self._of(scope).setdefault(schedule.id, schedule)

    async def get(self, scope: Scope, schedule_id: str) -> Schedule | None:
        return self._of(scope).get(schedule_id)

    async def of_user(self, scope: Scope) -> Sequence[Schedule]:
        return sorted(self._of(scope).values(), key=lambda schedule: (schedule.created_at, schedule.id))

    async def users(self, scope: Scope, *, first: str = "") -> AsyncGenerator[str, None]:
        of_tenant = [user_id for tenant_id, user_id in self._users if tenant_id == scope.tenant_id]
        for user_id in sorted(of_tenant, key=derive_user_place):
            if derive_user_place(user_id) >= first:
                yield user_id

    async def replace(self, scope: Scope, schedule: Schedule) -> bool:
        stored = self._of(scope).get(schedule.id)
        if stored is None or stored.revision != schedule.revision - 1:
            return stored == schedule
        self._of(scope)[schedule.id] = schedule
        return True

    async def remove(self, scope: Scope, schedule_id: str) -> bool:
        return self._of(scope).pop(schedule_id, None) is not None

    def make_entry(self, scope: Scope, schedule: Schedule) -> DueEntry | None:
        if schedule.next_at is None:
            return None
        return DueEntry(partition="#".join(_make_owner(scope)), sort=f"SCHEDULE#{schedule.id}", at=schedule.next_at)

    def _of(self, scope: Scope) -> dict[str, Schedule]:
        return self.stored.setdefault(_make_owner(scope), {})


class FakeBackgroundTasks:
    """``ports.threads.background.BackgroundTasks``."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str, str], tuple[Scope, BackgroundTask]] = {}
        """Tasks with their owners, by tenant, thread and id."""

    async def add(self, scope: Scope, thread_id: str, task: BackgroundTask) -> BackgroundTask:
        owner = Scope(scope.tenant_id, scope.user_id)
        return self.stored.setdefault((scope.tenant_id, thread_id, task.id), (owner, task))[1]

    async def get(self, scope: Scope, thread_id: str, task_id: str) -> BackgroundTask | None:
        stored = self.stored.get((scope.tenant_id, thread_id, task_id))
        return stored[1] if stored is not None else None

    async def find(self, tenant_id: str, thread_id: str, task_id: str) -> tuple[Scope, BackgroundTask] | None:
        return self.stored.get((tenant_id, thread_id, task_id))

    async def remove(self, scope: Scope, thread_id: str, task_id: str) -> None:
        self.stored.pop((scope.tenant_id, thread_id, task_id), None)

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[BackgroundTask]:
        own = [task for location, (_, task) in self.stored.items() if location[:2] == (scope.tenant_id, thread_id)]
        return sorted(own, key=lambda task: (task.started_at, task.id), reverse=True)

    async def replace(self, scope: Scope, thread_id: str, task: BackgroundTask) -> bool:
        stored = await self.get(scope, thread_id, task.id)
        if stored is None or stored.revision != task.revision - 1:
            return stored == task
        owner, _ = self.stored[scope.tenant_id, thread_id, task.id]
        self.stored[scope.tenant_id, thread_id, task.id] = owner, task
        return True

    def list_due(self) -> dict[DueEntry, DueTask]:
        """Return the tasks that have a time of their next check, by their entries."""
        return {
            DueEntry(partition=f"{tenant_id}#{thread_id}", sort=f"BACKGROUND#{task.id}", at=task.check_at): DueTask(
                owner, thread_id, task
            )
            for (tenant_id, thread_id, _), (owner, task) in self.stored.items()
            if task.check_at is not None
        }


class FakeDueItems:
    """``ports.threads.schedules.DueItems`` over the schedules and tasks of other fakes."""

    def __init__(self, schedules: FakeSchedules, tasks: FakeBackgroundTasks) -> None:
        self._schedules = schedules
        self._tasks = tasks
        self.later: dict[tuple[str, str, str], LaterRun] = {}
        """The postponed messages, by tenant, thread and message."""

    async def before(self, moment: datetime) -> AsyncGenerator[Sequence[DueEntry], None]:
        entries = [
            entry
            for owner, schedules in self._schedules.stored.items()
            for schedule in schedules.values()
            if (entry := self._schedules.make_entry(Scope(*owner), schedule)) is not None
        ]
        entries += [*map(_make_later_entry, self.later.values()), *self._tasks.list_due()]
        due = [entry for entry in entries if entry.at <= moment]
        if due:
            yield sorted(due, key=lambda entry: entry.at)

    async def load(self, entry: DueEntry) -> DueSchedule | DueTask | LaterRun | None:
        if entry in (tasks := self._tasks.list_due()):
            return tasks[entry]
        for owner, schedules in self._schedules.stored.items():
            for schedule in schedules.values():
                if self._schedules.make_entry(Scope(*owner), schedule) == entry:
                    return DueSchedule(Scope(*owner), schedule)
        return next((later for later in self.later.values() if _make_later_entry(later) == entry), None)

    async def of_thread(self, scope: Scope, thread_id: str) -> AsyncGenerator[LaterRun, None]:
        for (tenant_id, thread, _), later in list(self.later.items()):
            if (tenant_id, thread) == (scope.tenant_id, thread_id):
                yield later

    async def put_off(self, later: LaterRun) -> DueEntry:
        message = later.message
        self.later[message.tenant_id, message.thread_id, message.request.message_id] = later
        return _make_later_entry(later)

    async def settle(self, later: LaterRun) -> None:
        message = later.message
        key = (message.tenant_id, message.thread_id, message.request.message_id)
        if key in self.later and self.later[key].at == later.at:
            del self.later[key]


@dataclass
class FakeDelayQueue:
    """``ports.threads.schedules.DelayQueue`` that only records its entries."""

    sent: list[tuple[DueEntry, int]] = field(default_factory=list)
    """Entries, with the seconds until their delivery."""

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        self.sent.append((entry, seconds))


def _make_owner(scope: Scope) -> Owner:
    return scope.tenant_id, scope.user_id


def _make_later_entry(later: LaterRun) -> DueEntry:
    message = later.message
    partition = f"{message.tenant_id}#{message.thread_id}"
    return DueEntry(partition=partition, sort=f"DUE#{message.request.message_id}", at=later.at)
