"""Records of runs: tool calls, sub-tasks, calls over MCP, and those of the Context Inspector."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cachetools import LRUCache

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import MAX_INLINE, BodyStore, pack, unpack
from baton.adapters.dynamodb.conditional_writes import put_fenced
from baton.adapters.dynamodb.key_forms import LAST_NUMBER, UnderNumber
from baton.adapters.dynamodb.shapes import REMOTE_TASK, RUN_STEP, TASK, TOOL_CALL, pack_call, pack_task_messages
from baton.adapters.dynamodb.shards import make_page
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.concurrency.tasks import LARGE, gather_all, off_loop
from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask, Task
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.leases import Lease
from baton.ports.threads.run_records import MAX_BETWEEN, PAGE_SIZE, ContextRecord, McpCall

T = TypeVar("T")

MAX_INLINE_CONTEXT = 8 * 1024
"""The maximum size of a context record in an item, in bytes. A larger record costs less in S3."""
MAX_KNOWN_PROMPTS = 10_000
"""The number of prompts that this process remembers as stored."""

KEPT_SECONDS = 3600
"""Seconds until a call of an MCP client expires: longer than any run."""


class DynamoMcpCalls(TimedTableStore):
    """``McpCalls`` on the conversation table."""

    async def note_begun(self, scope: Scope, call: McpCall) -> None:
        now = self._clock.now()
        await self._table.put(
            {
                **keys.mcp_call(scope, call.session_id, call.request_id),
                "thread_id": call.thread_id,
                "run_id": call.run_id,
                "changed_at": to_millis(now),  # so that it is found when its user is forgotten
                "expires_at": int(now.timestamp()) + KEPT_SECONDS,
            }
        )

    async def find(self, scope: Scope, session_id: str, request_id: str) -> McpCall | None:
        item = await self._table.get(keys.mcp_call(scope, session_id, request_id))
        if item is None or item["expires_at"] <= self._clock.now().timestamp():
            return None
        return McpCall(session_id, request_id, item["thread_id"], item["run_id"])


_Position = tuple[int, int, str]
"""The position of a record in its thread: first ordinal of its run, time in milliseconds, id."""


class DynamoRunRecords(BodyStore):
    """``RunRecords`` on the conversation table, with large bodies in S3.

    A record's key must be the same in every attempt, but attempts make calls at other times and in another order. So
    keys sort by run only, and readers sort the records of a run: a page reads whole runs.
    """

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        item: Item = {
            **keys.call(scope, thread_id, lease.thread.next_ordinal, call.id),
            "run_id": call.run_id,
            "began_at": to_millis(call.called_at),
            **await self._bodies.store(scope, thread_id, await off_loop(_measure_call(call), pack_call, call)),
        }
        await put_fenced(self._table, lease, item)

    async def calls_of_run(
        self, scope: Scope, thread_id: str, run_id: str, *, first_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        items = await self._read_items_under(scope, thread_id, keys.call, first_ordinal)
        own = sorted((item for item in items if item["run_id"] == run_id), key=_make_position)
        return await self._unpack_records(scope, thread_id, own, _to_call, _measure_call)

    async def calls_between(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        if first_ordinal >= end_ordinal:
            return []
        end = encode({"run": end_ordinal, "at": -1, "id": ""})
        items, _ = await self._read_newest(scope, thread_id, keys.call, MAX_BETWEEN, end, first_ordinal=first_ordinal)
        return (await self._fill_page(scope, thread_id, items, _to_call, _measure_call))[::-1]

    async def list_calls(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[ToolCallRecord], str | None]:
        items, next_cursor = await self._read_newest(scope, thread_id, keys.call, limit, cursor)
        calls = await self._fill_page(scope, thread_id, items, _to_call, _measure_call)
        return calls, next_cursor if len(calls) == len(items) else _make_cursor(items[len(calls) - 1])

    async def put_task(self, lease: Lease, task: Task) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        first_ordinal = lease.thread.next_ordinal
        size = len(task.message) + len(task.result or "") + sum(len(message.content) for message in task.messages)
        head = await off_loop(size, TASK.pack, task)
        messages = await off_loop(size, pack_task_messages, task.messages)
        item: Item = {
            **keys.task(scope, thread_id, first_ordinal, task.id),
            "run_id": task.run_id,
            "began_at": to_millis(task.started_at),
            **await self._bodies.store(scope, thread_id, head),
            **await self._bodies.store(
                scope, thread_id, messages, name="messages", room=max(0, MAX_INLINE - len(head))
            ),
        }
        place_item: Item = {**keys.task_place(scope, thread_id, task.id), "first_ordinal": first_ordinal}
        await gather_all(put_fenced(self._table, lease, place_item), put_fenced(self._table, lease, item))

    async def list_tasks(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Task], str | None]:
        items, next_cursor = await self._read_newest(scope, thread_id, keys.task, limit, cursor)
        tasks = await self._fill_page(
            scope, thread_id, items, _to_task, lambda task: len(task.message) + len(task.result or "")
        )
        return tasks, next_cursor if len(tasks) == len(items) else _make_cursor(items[len(tasks) - 1])

    async def task(self, scope: Scope, thread_id: str, task_id: str) -> Task | None:
        place_item = await self._table.get(keys.task_place(scope, thread_id, task_id))
        if place_item is None:
            return None
        item = await self._table.get(keys.task(scope, thread_id, place_item["first_ordinal"], task_id))
        if item is None:
            return None
        body, messages = await gather_all(
            self._bodies.read(scope, thread_id, item), self._bodies.read(scope, thread_id, item, name="messages")
        )
        return _to_task(item, body, messages=unpack(messages))

    async def put_remote_task(self, lease: Lease, task: RemoteTask) -> None:
        key = keys.remote_task(lease.scope, lease.thread_id, lease.thread.next_ordinal, task.id)
        await put_fenced(self._table, lease, {**key, "body": REMOTE_TASK.pack(task)})

    async def read_remote_tasks(self, scope: Scope, thread_id: str, *, first_ordinal: int) -> Sequence[RemoteTask]:
        items = await self._read_items_under(scope, thread_id, keys.remote_task, first_ordinal)
        return [REMOTE_TASK.unpack(item["body"], id=item["SK"].split("#", 2)[2]) for item in items]

    async def put_step(self, lease: Lease, step: RunStep, *, first_ordinal: int) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        size = step.size + len(step.arguments or "")
        item: Item = {
            **keys.step(scope, thread_id, first_ordinal, step.id),
            "message_id": step.message_id,
            "run_id": step.run_id,
            **await self._bodies.store(scope, thread_id, await off_loop(size, RUN_STEP.pack, step)),
        }
        await put_fenced(self._table, lease, item)

    async def list_steps(
        self, scope: Scope, thread_id: str, message_id: str, *, first_ordinal: int
    ) -> Sequence[RunStep]:
        items = await self._read_items_under(scope, thread_id, keys.step, first_ordinal)
        # A run that was not committed may have left steps at an ordinal that another run has used since.
        items = [item for item in items if item["message_id"] == message_id]
        return await self._unpack_records(scope, thread_id, items, _to_step, lambda step: step.size)

    async def _read_items_under(self, scope: Scope, thread_id: str, form: UnderNumber, ordinal: int) -> list[Item]:
        """Return the items under ``ordinal``."""
        last = form.make_sort_key(ordinal + 1)  # a prefix of keys, and not a key itself
        return await self._table.read_all(
            keys.partition(scope, thread_id), first=form.make_sort_key(ordinal), last=last
        )

    async def _fill_page(
        self,
        scope: Scope,
        thread_id: str,
        items: Sequence[Item],
        convert: Callable[[Item, bytes], T],
        size_of: Callable[[T], int],
    ) -> list[T]:
        """Return the records of the first items, up to the record whose text fills the page.

        Bodies are read one at a time, because a single body may fill the page.
        """
        records: list[T] = []
        size = 0
        for item in items:
            records += await self._unpack_records(scope, thread_id, [item], convert, size_of)
            size += size_of(records[-1])
            if size >= PAGE_SIZE:
                break
        return records

    async def _unpack_records(
        self,
        scope: Scope,
        thread_id: str,
        items: Sequence[Item],
        convert: Callable[[Item, bytes], T],
        size_of: Callable[[T], int],
    ) -> list[T]:
        """Return the records of items, converted from an item and its body. ``size_of`` returns characters."""
        bodies = await gather_all(*(self._bodies.read(scope, thread_id, item) for item in items))
        records: list[T] = []
        for item, body in zip(items, bodies, strict=True):
            records.append(convert(item, body))
            if size_of(records[-1]) >= LARGE:
                await asyncio.sleep(0)
        return records

    async def _read_newest(
        self, scope: Scope, thread_id: str, form: UnderNumber, limit: int, cursor: str | None, *, first_ordinal: int = 0
    ) -> tuple[list[Item], str | None]:
        """Return a page of items, newest first, and the next cursor. Reading stops with the run that fills the page.

        Raises ``InvalidRequest`` for an invalid cursor.
        """
        below = _decode_cursor(cursor) if cursor else None
        items: list[Item] = []
        run: list[Item] = []
        async for page in self._table.query(
            keys.partition(scope, thread_id),
            first=form.make_sort_key(first_ordinal),
            last=form.make_sort_key(below[0] + 1 if below else LAST_NUMBER),
            newest_first=True,
            limit=limit + 1,
        ):
            for item in page:
                if run and _make_position(item)[0] != _make_position(run[0])[0]:
                    items += _select_below(run, below)
                    run = []
                    if len(items) > limit:
                        return make_page(items, limit, _make_cursor)
                    stored = (len(value) for item in items for value in item.values() if isinstance(value, bytes))
                    if items and sum(stored) >= PAGE_SIZE:
                        return items, _make_cursor(items[-1])
                run.append(item)
        return make_page([*items, *_select_below(run, below)], limit, _make_cursor)


def _make_position(item: Item) -> _Position:
    _, first_ordinal, record_id = item["SK"].split("#", 2)
    return int(first_ordinal), item["began_at"], record_id


def _to_call(item: Item, body: bytes) -> ToolCallRecord:
    _, began_at, call_id = _make_position(item)
    return TOOL_CALL.unpack(body, id=call_id, run_id=item["run_id"], called_at=from_millis(began_at))


def _to_task(item: Item, body: bytes, messages: Sequence[Any] = ()) -> Task:
    """Return a sub-task with ``messages``, which are unpacked but not converted."""
    _, began_at, task_id = _make_position(item)
    return TASK.unpack(body, id=task_id, run_id=item["run_id"], started_at=from_millis(began_at), messages=messages)


def _to_step(item: Item, body: bytes) -> RunStep:
    step_id = item["SK"].rpartition("#")[2]
    return RUN_STEP.unpack(body, id=step_id, message_id=item["message_id"], run_id=item["run_id"])


def _select_below(items: list[Item], below: _Position | None) -> list[Item]:
    """Return the items of a run before the cursor, newest first."""
    return sorted(
        (item for item in items if below is None or _make_position(item) < below), key=_make_position, reverse=True
    )


def _make_cursor(last: Item) -> str:
    """Return the cursor of the page after the one that ends with ``last``."""
    first_ordinal, at, record_id = _make_position(last)
    return encode({"run": first_ordinal, "at": at, "id": record_id})


def _measure_call(call: ToolCallRecord) -> int:
    """Return roughly the number of characters of a call."""
    input_size = (
        len(call.input) if isinstance(call.input, str) else sum(len(str(value)) for value in call.input.values())
    )
    return input_size + len(call.output or "") + len(call.error_message or "")


def _decode_cursor(cursor: str) -> _Position:
    match decode(cursor):
        case {"run": int(first_ordinal), "at": int(at), "id": str(record_id)} if 0 <= first_ordinal < LAST_NUMBER:
            return first_ordinal, at, record_id
    raise InvalidRequest("cursor was not handed out by this list.")


class DynamoContextRecords(BodyStore):
    """``ContextRecords`` on the conversation table: an item for each run, and for each system prompt of a tenant."""

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        super().__init__(table, bodies)
        self._known: LRUCache[tuple[str, str], bool] = LRUCache(MAX_KNOWN_PROMPTS)
        """The prompts that are stored, by tenant and digest."""

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        unknown_digests = [digest for digest in record.prompts if not self._known.get((scope.tenant_id, digest))]
        await gather_all(*(self._put_prompt(scope, digest, record.prompts[digest]) for digest in unknown_digests))
        packed = await off_loop(LARGE, pack, record.body)
        body = await self._bodies.store(scope, thread_id, packed, room=MAX_INLINE_CONTEXT)
        prompts = sorted(record.prompts) or None
        await self._table.put({**keys.context(scope, thread_id, run_id), **body, "prompts": prompts})

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> ContextRecord | None:
        item = await self._table.get(keys.context(scope, thread_id, run_id))
        if item is None:
            return None
        packed = await self._bodies.read(scope, thread_id, item)
        body: dict[str, Any] = await off_loop(len(packed), unpack, packed)
        digests = item.get("prompts", [])
        prompt_items = await gather_all(*(self._table.get(keys.system_prompt(scope, digest)) for digest in digests))
        prompts = {
            digest: unpack(prompt_item["body"])
            for digest, prompt_item in zip(digests, prompt_items, strict=True)
            if prompt_item
        }
        return ContextRecord(body, prompts)

    async def _put_prompt(self, scope: Scope, digest: str, prompt: str) -> None:
        await self._table.put({**keys.system_prompt(scope, digest), "body": pack(prompt)})
        self._known[scope.tenant_id, digest] = True
