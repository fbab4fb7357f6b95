"""Messages on DynamoDB, by ordinal, read from the newest backwards."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, pack_id, unpack_id
from baton.adapters.dynamodb.bodies import ItemBodies, pack
from baton.adapters.dynamodb.conditional_writes import put_all_fenced, put_fenced
from baton.adapters.dynamodb.key_forms import LAST_NUMBER
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads import history_check
from baton.adapters.dynamodb.threads.leases import DynamoLeases
from baton.adapters.dynamodb.threads.message_items import SUMMARY, pack_message, unpack_message
from baton.concurrency.tasks import LARGE, gather_all, off_loop
from baton.domain.tenants.identity import Scope
from baton.domain.threads.branches import MessagePath
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import DEFAULT_LEASE_SECONDS, Thread
from baton.ports.clock import Clock
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import Page

MAX_GROUP = 50
"""The maximum number of messages that are written together. DynamoDB allows 100 items in a transaction."""
MAX_GROUP_SIZE = 2 * 1024 * 1024
"""The maximum size of the bodies that are written together, in bytes. DynamoDB allows 4 MB in a transaction."""
MAX_QUERY = 200
"""The maximum number of items that a query for a history requests."""
NEWEST = 100
"""The number of newest messages that are searched first, because users rate and quote what they have just read."""
MAX_SEARCHES = 20
"""The maximum number of requests that search the older messages. Each reads a megabyte."""
MAX_SKIPPED = 20
"""The maximum number of messages of other branches that are read and dropped, because another request costs more."""
RUN_PAGE = 8
"""The number of messages that one request for a run reads. Most runs have fewer."""
PAGE_SIZE = 1024 * 1024
"""The size after which a page of messages ends, whatever its limit, in characters or stored bytes."""


class DynamoMessages(DynamoLeases):
    """The part of the thread store that stores messages."""

    def __init__(
        self, table: Table, bodies: S3Bodies, clock: Clock, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> None:
        super().__init__(table, clock, lease_seconds)
        self._bodies = ItemBodies(bodies)

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        item = await self._make_item(lease, message)
        await put_fenced(self._table, lease, item)
        if self._bodies.is_inline(item):
            [stored] = await self._to_messages(lease.scope, lease.thread_id, [{**item, "fence": lease.fence}])
            self._histories.note_written(lease, stored, _estimate_memory(stored))
        else:  # an earlier version of the message may have been noted
            self._histories.forget(lease.scope, lease.thread_id)

    async def put_messages(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        # Transactions cost twice the write units, and fifty messages take one request instead of fifty.
        items = await gather_all(*(self._make_item(lease, message) for message in messages))
        await gather_all(*(put_all_fenced(self._table, lease, group) for group in _divide_into_groups(items)))

    async def _make_item(self, lease: Lease, message: StoredMessage) -> Item:
        """Return the item of a message. A long body is stored in S3."""
        packed = await off_loop(_measure(message), pack_message, message, lease.thread_id)
        return {
            **keys.message(lease.scope, lease.thread_id, message.ordinal),
            "id": pack_id(message.id),
            "run_id": pack_id(message.run_id),
            **history_check.mark_before(lease, message),
            "tokens": message.tokens,
            **await self._bodies.store(lease.scope, lease.thread_id, packed),
        }

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None, first_ordinal: int = 0
    ) -> Sequence[StoredMessage]:
        path = _cut_path(thread, before).cut(thread.next_ordinal, first_ordinal)
        if not path.length:
            return ()
        is_newest = not thread.segments and (before is None or before >= thread.next_ordinal)
        if is_newest:
            stored_messages = self._histories.find(
                scope, thread, token_budget=token_budget, first_ordinal=first_ordinal
            )
            if stored_messages is not None:
                return stored_messages
        read = await self._read_cheaply(scope, thread, path, token_budget) if is_newest else None
        if read is None:
            items = await self._read_newest_items(scope, thread, path, token_budget)
            read = items, await self._to_messages(scope, thread.id, items)
        items, messages = read
        if is_newest:
            self._histories.keep(scope, thread, messages, [_estimate_memory(message) for message in messages])
        return messages

    async def _read_cheaply(
        self, scope: Scope, thread: Thread, path: MessagePath, token_budget: int
    ) -> tuple[list[Item], list[StoredMessage]] | None:
        """Return the newest messages and their items, read without consistency; None if they may not be current."""
        if not history_check.may_be_checked(thread):
            return None
        items = await self._read_newest_items(scope, thread, path, token_budget, consistent=False)
        is_whole = bool(items) and keys.message.read_number(items[0]) == path.ranges[0][0]
        is_whole = is_whole or sum(item["tokens"] for item in items) > token_budget
        if not (is_whole and history_check.is_current(items, thread) and history_check.has_summary(items, thread)):
            return None
        messages = await self._to_messages(scope, thread.id, items)
        return (items, messages) if history_check.ends_plainly(messages, items) else None

    async def _read_newest_items(
        self, scope: Scope, thread: Thread, path: MessagePath, token_budget: int, *, consistent: bool = True
    ) -> list[Item]:
        """Return the items of the path's newest messages, in order, up to the one that exceeds the budget."""
        mean = max(1, thread.stored_tokens // max(1, thread.next_ordinal))
        # Somewhat more than the budget probably takes, so that one request a turn is enough for any thread.
        limit = min(MAX_QUERY, math.ceil(token_budget / mean) + 4)
        items: list[Item] = []
        tokens = 0
        async for page in self._read_backwards(scope, thread.id, path, limit, consistent=consistent):
            for item in page:
                items.append(item)
                tokens += item["tokens"]
                if tokens > token_budget:
                    return items[::-1]
        return items[::-1]

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        path = _cut_path(thread, before)
        messages: list[StoredMessage] = []
        size = 0
        if path.length:
            async for page in self._read_backwards(scope, thread.id, path, limit):
                for item in page[: limit - len(messages)]:
                    messages += await self._to_messages(scope, thread.id, [item])
                    size += max(_measure(messages[-1]), len(item.get("body", b"")))
                    if size >= PAGE_SIZE:
                        break
                if size >= PAGE_SIZE or len(messages) >= limit:
                    break
        messages.reverse()
        more = bool(messages) and path.ranges[0][0] < messages[0].ordinal
        return Page(tuple(messages), messages[0].ordinal if more else None)

    async def find_message(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage | None:
        top = thread.next_ordinal
        for end, limit, requests in ((top, NEWEST, 1), (top - NEWEST, None, MAX_SEARCHES)):
            if end <= 0:
                break
            pages = self._table.query(
                keys.partition(scope, thread.id),
                first=keys.message.make_sort_key(0),
                last=keys.message.make_sort_key(end - 1),
                newest_first=True,
                limit=limit,
                where=("id = :id OR id = :packed", {":id": message_id, ":packed": pack_id(message_id)}),
            )
            async with aclosing(pages):
                async for page in pages:
                    if page:
                        return (await self._to_messages(scope, thread.id, page[:1]))[0]
                    requests -= 1
                    if requests == 0:
                        break
        return None

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        last = below - 1 if below is not None else LAST_NUMBER
        items: list[Item] = []
        if last < first_ordinal:
            return ()
        async for page in self._table.query(
            keys.partition(scope, thread_id),
            first=keys.message.make_sort_key(first_ordinal),
            last=keys.message.make_sort_key(last),
            limit=RUN_PAGE,
        ):
            for item in page:
                is_next = not items or keys.message.read_number(item) == keys.message.read_number(items[-1]) + 1
                if not is_next or (items and unpack_id(item["run_id"]) != unpack_id(items[0]["run_id"])):
                    return _select_one_run(await self._to_messages(scope, thread_id, items))
                items.append(item)
        return _select_one_run(await self._to_messages(scope, thread_id, items))

    async def put_summary(self, scope: Scope, thread: Thread, *, ordinal: int, agent_id: str, summary: str) -> None:
        await self._table.change(
            keys.message(scope, thread.id, ordinal),
            "SET #summary = :summary",
            {":summary": pack(summary)},
            names={"#summary": f"{SUMMARY}{agent_id}"},
            condition="attribute_exists(PK) AND attribute_not_exists(#summary)",
        )
        self._histories.forget(scope, thread.id)

    async def _read_backwards(
        self, scope: Scope, thread_id: str, path: MessagePath, limit: int, *, consistent: bool = True
    ) -> AsyncIterator[list[Item]]:
        """Yield pages of the path's messages, the newest first. A request asks for ``limit`` messages at most."""
        for span in reversed(_divide_path(path)):
            first, end = span.ranges[0][0], span.ranges[-1][1]
            async for page in self._table.query(
                keys.partition(scope, thread_id),
                first=keys.message.make_sort_key(first),
                last=keys.message.make_sort_key(end - 1),
                newest_first=True,
                limit=min(limit, end - first),
                consistent=consistent,
            ):
                yield (
                    page if len(span.ranges) == 1 else [item for item in page if keys.message.read_number(item) in span]
                )

    async def _to_messages(self, scope: Scope, thread_id: str, items: Sequence[Item]) -> list[StoredMessage]:
        """Return the messages of items, with long bodies from S3. Other tasks can run after each long message."""
        elsewhere = [item for item in items if not self._bodies.is_inline(item)]
        bodies = await gather_all(*(self._bodies.read(scope, thread_id, item) for item in elsewhere))
        s3_bodies = {item["SK"]: body for item, body in zip(elsewhere, bodies, strict=True)}
        messages: list[StoredMessage] = []
        for item in items:
            packed = s3_bodies[item["SK"]] if item["SK"] in s3_bodies else item["body"]
            message = unpack_message(packed, item, thread_id)
            messages.append(message)
            if _measure(message) >= LARGE:
                await asyncio.sleep(0)
        return messages


def _cut_path(thread: Thread, before: int | None) -> MessagePath:
    """Return the part of the thread's path below ``before``."""
    top = thread.next_ordinal if before is None else min(before, thread.next_ordinal)
    return thread.path.cut(top)


def _divide_path(path: MessagePath) -> list[MessagePath]:
    """Return the parts of the path that one query each reads. The query also reads the messages between near ranges."""
    spans: list[list[tuple[int, int]]] = []
    for span in path.ranges:
        if spans and span[0] - spans[-1][-1][1] <= MAX_SKIPPED:
            spans[-1].append(span)
        else:
            spans.append([span])
    return [MessagePath(tuple(ranges)) for ranges in spans]


def _measure(message: StoredMessage) -> int:
    """Return the characters of a message's content and calls, which determine the time to pack it."""
    content = message.content
    length = len(content) if isinstance(content, str) else sum(len(part.model_dump_json()) for part in content)
    return length + sum(len(call.arguments) for call in message.tool_calls)


def _estimate_memory(message: StoredMessage) -> int:
    """Return the maximum number of bytes in memory that a message takes, besides its small fields."""
    return 4 * _measure(message)  # a character takes at most four bytes


def _select_one_run(messages: list[StoredMessage]) -> list[StoredMessage]:
    """Return the messages up to the run's end. The next run may have the same id, because clients choose it."""
    for index, message in enumerate(messages):
        if message.end is not None:
            return messages[: index + 1]
    return messages


def _divide_into_groups(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items in groups that a transaction can hold."""
    groups: list[list[Item]] = []
    size = 0
    for item in items:
        length = len(item.get("body", b""))
        if not groups or len(groups[-1]) == MAX_GROUP or size + length > MAX_GROUP_SIZE:
            groups.append([])
            size = 0
        groups[-1].append(item)
        size += length
    return groups
