"""Tool calls, sub-tasks and the Context Inspector's records in memory, under the same rules as the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from baton.domain.errors import InvalidRequest, LeaseLost
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask, Task
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.leases import Lease
from baton.ports.threads.run_records import MAX_BETWEEN, PAGE_SIZE, ContextRecord

T = TypeVar("T", ToolCallRecord, Task)
R = TypeVar("R", ToolCallRecord, Task, RemoteTask)

_Thread = tuple[str, str]
"""Tenant and thread."""
_Key = tuple[int, str]
"""First ordinal of the run, and id."""
_Place = tuple[int, datetime, str]


class FakeRunRecords:
    """``ports.threads.run_records.RunRecords``."""

    def __init__(self) -> None:
        self._calls: defaultdict[_Thread, dict[_Key, tuple[int, ToolCallRecord]]] = defaultdict(dict)
        self._tasks: defaultdict[_Thread, dict[_Key, tuple[int, Task]]] = defaultdict(dict)
        self._steps: defaultdict[_Thread, dict[_Key, tuple[int, RunStep]]] = defaultdict(dict)
        self._remote: defaultdict[_Thread, dict[_Key, tuple[int, RemoteTask]]] = defaultdict(dict)

    async def put_step(self, lease: Lease, step: RunStep, *, first_ordinal: int) -> None:
        steps, key = self._steps[_make_thread_key(lease)], (first_ordinal, step.id)
        if key in steps and steps[key][0] > lease.fence:
            raise LeaseLost
        steps[key] = (lease.fence, replace(step, ended_at=_round_time(step.ended_at)))

    async def list_steps(
        self, scope: Scope, thread_id: str, message_id: str, *, first_ordinal: int
    ) -> Sequence[RunStep]:
        rows = sorted(self._steps[scope.tenant_id, thread_id].items())
        return [step for (ordinal, _), (_, step) in rows if ordinal == first_ordinal and step.message_id == message_id]

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        stored_call = replace(
            call,
            called_at=_round_time(call.called_at),
            duration=call.duration - call.duration % timedelta(milliseconds=1),
        )
        _put(self._calls[_make_thread_key(lease)], lease, stored_call)

    async def calls_of_run(
        self, scope: Scope, thread_id: str, run_id: str, *, first_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        calls = _in_order(self._calls.get((scope.tenant_id, thread_id), {}))
        return [call for (ordinal, _, _), call in calls if ordinal == first_ordinal and call.run_id == run_id]

    async def calls_between(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        calls = _in_order(self._calls.get((scope.tenant_id, thread_id), {}))
        chosen = [call for (ordinal, _, _), call in calls if first_ordinal <= ordinal < end_ordinal]
        return _cut_page(chosen, MAX_BETWEEN, None)[0][::-1]

    async def list_calls(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[ToolCallRecord], str | None]:
        return _cut_page(
            [call for _, call in _in_order(self._calls.get((scope.tenant_id, thread_id), {}))], limit, cursor
        )

    async def put_task(self, lease: Lease, task: Task) -> None:
        stored_task = replace(
            task,
            started_at=_round_time(task.started_at),
            ended_at=_round_time(task.ended_at) if task.ended_at is not None else None,
            messages=tuple(replace(message, timestamp=_round_time(message.timestamp)) for message in task.messages),
        )
        _put(self._tasks[_make_thread_key(lease)], lease, stored_task)

    async def list_tasks(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Task], str | None]:
        tasks = [replace(task, messages=()) for _, task in _in_order(self._tasks[scope.tenant_id, thread_id])]
        return _cut_page(tasks, limit, cursor)

    async def task(self, scope: Scope, thread_id: str, task_id: str) -> Task | None:
        tasks = self._tasks[scope.tenant_id, thread_id]
        return next((task for (_, stored_id), (_, task) in tasks.items() if stored_id == task_id), None)

    async def put_remote_task(self, lease: Lease, task: RemoteTask) -> None:
        _put(self._remote[_make_thread_key(lease)], lease, task)

    async def read_remote_tasks(self, scope: Scope, thread_id: str, *, first_ordinal: int) -> Sequence[RemoteTask]:
        rows = sorted(self._remote[scope.tenant_id, thread_id].items())
        return [task for (ordinal, _), (_, task) in rows if ordinal == first_ordinal]


def _make_thread_key(lease: Lease) -> _Thread:
    return lease.scope.tenant_id, lease.thread_id


def _put(records: dict[_Key, tuple[int, R]], lease: Lease, record: R) -> None:
    key = (lease.thread.next_ordinal, record.id)
    if key in records and records[key][0] > lease.fence:
        raise LeaseLost
    records[key] = (lease.fence, record)


def _in_order(records: Mapping[_Key, tuple[int, T]]) -> list[tuple[_Place, T]]:
    placed = [
        ((ordinal, _get_beginning(record), record_id), record) for (ordinal, record_id), (_, record) in records.items()
    ]
    return sorted(placed, key=lambda entry: entry[0])


def _get_beginning(record: ToolCallRecord | Task) -> datetime:
    return record.called_at if isinstance(record, ToolCallRecord) else record.started_at


def _cut_page(records: list[T], limit: int, cursor: str | None) -> tuple[list[T], str | None]:
    """Return the next page of the newest records and its cursor, which is the id of its last record.

    A page has at most ``limit`` records, and fewer if they are long.
    """
    ids = [record.id for record in records]
    if cursor is not None and cursor not in ids:
        raise InvalidRequest("cursor was not handed out by this list.")
    below = records if cursor is None else records[: ids.index(cursor)]
    records_of_page: list[T] = []
    size = 0
    for record in below[::-1][:limit]:
        records_of_page.append(record)
        size += _measure(record)
        if size >= PAGE_SIZE:
            break
    return records_of_page, records_of_page[-1].id if len(below) > len(records_of_page) else None


def _measure(record: ToolCallRecord | Task) -> int:
    """Return the approximate number of characters of a record, without the messages of a task."""
    if isinstance(record, Task):
        return len(record.message) + len(record.result or "")
    return len(str(record.input)) + len(record.output or "") + len(record.error_message or "")


def _round_time(moment: datetime) -> datetime:
    return from_millis(to_millis(moment))


@dataclass
class FakeContextRecords:
    """``ports.threads.run_records.ContextRecords``. ``records``: (tenant, thread, run) -> record."""

    records: dict[tuple[str, str, str], ContextRecord] = field(default_factory=dict)
    failure: Exception | None = None
    """The error that every method raises."""

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        if self.failure is not None:
            raise self.failure
        self.records[scope.tenant_id, thread_id, run_id] = record

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> ContextRecord | None:
        if self.failure is not None:
            raise self.failure
        return self.records.get((scope.tenant_id, thread_id, run_id))
