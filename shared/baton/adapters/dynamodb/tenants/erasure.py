"""Removal of threads and users from the table.

Everything in a thread's partition is removed, no matter which code wrote it: new kinds of items need no line here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, unpack_id
from baton.adapters.dynamodb.conditional_writes import retry_on_conflict
from baton.adapters.dynamodb.memory.procedures import DynamoProcedures
from baton.adapters.dynamodb.shapes import Shape, pack_conversation, unpack_conversation
from baton.adapters.dynamodb.shards import LISTING
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.tenants import erased_items
from baton.adapters.dynamodb.tenants.erased_items import TOMBSTONE, find_count_name, find_desk_place, may_stay
from baton.adapters.dynamodb.threads.due_items import note_scheduler
from baton.adapters.dynamodb.writes import IS_NEW
from baton.concurrency.tasks import gather_each
from baton.domain.memory.episode import derive_episode_id
from baton.domain.memory.forgetting import EpisodeTrace, ThreadTrace
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis

ANYBODY = "-"
"""The user id for keys that contain only the tenant."""
AT_ONCE = 32
"""The number of deletions at the same time. Each takes a connection to DynamoDB."""
_TRACE = Shape(ThreadTrace)


class DynamoErasure(TimedTableStore):
    """``Erasure`` on the conversation table."""

    async def note_upload(self, scope: Scope, thread_id: str) -> None:
        # Objects are named by tenant and thread. Without a thread item, nothing else would say whose they are.
        await self._table.put({**keys.user_upload(scope, thread_id), "changed_at": to_millis(self._clock.now())})

    async def threads(self, scope: Scope) -> AsyncIterator[Sequence[ThreadTrace]]:
        async for page in self._table.query(keys.user_listing(scope), prefix=keys.UPLOAD):
            ids = [item["SK"].removeprefix(keys.UPLOAD) for item in page]
            yield await self._read_traces(scope, [keys.partition(scope, thread_id) for thread_id in ids], scope.user_id)
        async for page in self._table.query(keys.user_listing(scope), index=LISTING):
            yield await self._read_traces(scope, [item["PK"] for item in page], scope.user_id)

    async def list_inactive_threads(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[ThreadTrace]]:
        last = f"{to_millis(before):015d}"
        for listing in keys.tenant_listings(scope):
            async for page in self._table.query(listing, last=last, index=LISTING):
                ids = [item["PK"].removeprefix("~THREAD#") for item in page]
                yield await self._read_traces(scope, [keys.partition(scope, thread_id) for thread_id in ids], None)

    async def list_forks(self, scope: Scope, thread_id: str) -> Sequence[ThreadTrace]:
        entries = await self._table.read_all(keys.fork_listing(scope, thread_id), index=LISTING)
        return await self._read_traces(scope, [entry["PK"] for entry in entries], None)

    async def trace(self, scope: Scope, thread_id: str) -> ThreadTrace | None:
        return await self._table.read(keys.thread(scope, thread_id), _to_trace)

    @retry_on_conflict
    async def bury(self, scope: Scope, thread: ThreadTrace, *, unless_active_since: datetime | None = None) -> bool:
        key = keys.thread(scope, thread.id)
        item = await self._table.get(key)
        if item is None and thread.user_id is not None:
            return False  # the thread was never begun, or has been forgotten completely
        if item is not None and item.get("user_id", scope.user_id) != scope.user_id:
            return False
        if item is not None and item.get("thread_status") == TOMBSTONE:
            return True
        if item is not None and unless_active_since is not None:
            is_leased = item.get("lease_until", 0) >= to_millis(self._clock.now())
            if is_leased or item.get("last_activity_at", 0) >= to_millis(unless_active_since):
                return False
        condition, values = _make_condition(item)
        tombstone = erased_items.make_tombstone(scope, item, self._clock)
        await self._table.put({**key, **tombstone}, condition=condition, values=values)
        return True

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[Mapping[str, int], bool]:
        counts: Counter[str] = Counter()
        tombstone = await self._table.get(keys.thread(scope, thread_id)) or {}
        async for page in self._table.query(keys.partition(scope, thread_id)):
            await self._remove_all(page, tombstone, counts)
            if asyncio.get_running_loop().time() >= deadline:
                return counts, False
        async for page in self._table.query(keys.user_listing(scope), prefix=keys.FLOW):
            own = [item for item in page if item["thread_id"] == thread_id]
            await self._remove_all(own, tombstone, counts)
        await self._table.delete(keys.user_upload(scope, thread_id))
        desk_key = find_desk_place(scope, tombstone)
        if desk_key is not None:
            await self._table.delete(desk_key)
        # A worker that was ending the last session may have written the episode's place after its record was removed.
        await self._forget_places(scope, thread_id, _list_last_sessions(tombstone))
        return counts, True

    async def mark_swept(self, scope: Scope, thread_id: str, mark: str) -> None:
        await self._table.change(
            keys.thread(scope, thread_id),
            "SET swept = :mark",
            {":mark": mark, ":deleted": TOMBSTONE},
            condition="thread_status = :deleted",
        )

    async def count_left(self, scope: Scope, thread_id: str) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        async for page in self._table.query(keys.partition(scope, thread_id)):
            counts.update(find_count_name(item) for item in page if not may_stay(item))
        async for page in self._table.query(keys.user_listing(scope), prefix=keys.FLOW):
            counts.update(find_count_name(item) for item in page if item["thread_id"] == thread_id)
        tombstone = await self._table.get(keys.thread(scope, thread_id)) or {}
        places = [
            keys.episode_place(scope, *episode) for episode in _list_episodes(thread_id, _list_last_sessions(tombstone))
        ]
        counts["episodes"] += len(await self._table.get_many(places, consistent=True))
        desk_key = find_desk_place(scope, tombstone)
        counts["deskPlaces"] += int(desk_key is not None and await self._table.get(desk_key) is not None)
        return +counts

    async def unlink(self, scope: Scope, thread_id: str) -> int:
        changed = 0
        async for page in self._table.query(keys.user_listing(scope), index=LISTING):
            thread_keys = [{"PK": key, "SK": "THREAD"} for key in dict.fromkeys(item["PK"] for item in page)]
            for item in await self._table.get_many(thread_keys, consistent=True):
                changed += await self._remove_workflows(item, thread_id)
        return changed

    async def unbury(self, scope: Scope, thread_id: str) -> None:
        trace = await self.trace(scope, thread_id)
        if trace is None or not trace.is_buried:
            return  # somebody has begun a conversation under the id since
        # The owner first: once the tombstone is gone, a message may claim the id again.
        await self._table.delete(
            keys.owner(thread_id), condition="tenant_id = :tenant", values={":tenant": scope.tenant_id}
        )
        await self._table.delete(
            keys.thread(scope, thread_id), condition="thread_status = :deleted", values={":deleted": TOMBSTONE}
        )

    async def sweep_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        has_newer_schedules = False
        await self._table.delete(keys.scheduler(scope))  # first, because a new schedule may note the user meanwhile
        async for page in self._table.query(keys.user_listing(scope)):
            old, newer = _divide_by_age(page, before)
            await self._remove_all(old, {}, counts)
            has_newer_schedules |= any(item["SK"].startswith(keys.SCHEDULE) for item in newer)
        if has_newer_schedules:
            await note_scheduler(self._table, scope)
        return counts

    async def count_left_of_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        async for page in self._table.query(keys.user_listing(scope)):
            old, _ = _divide_by_age(page, before)
            counts.update(map(find_count_name, old))
        return counts

    async def sweep_audit(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[Mapping[str, int], bool]:
        counts: Counter[str] = Counter()
        for listing in keys.audit_listings(scope):
            async for page in self._table.query(listing, last=f"{to_millis(before):015d}", limit=100, index=LISTING):
                items = await self._table.get_listed(page)
                # A handoff's record holds the handoff, which a conversation in use still needs.
                old = [get_key(item) for item in items if "ordinal" not in item]
                await gather_each(old, self._table.delete, at_once=AT_ONCE)
                counts["auditRecords"] += len(old)
                if asyncio.get_running_loop().time() >= deadline:
                    return +counts, False
        return +counts, True

    async def list_ended_episodes(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[EpisodeTrace]]:
        last = f"{to_millis(before):015d}"
        for listing in keys.tenant_episodes(scope):
            async for page in self._table.query(listing, last=last, limit=100, index=LISTING):
                places = await self._table.get_listed(page, consistent=True)
                old = [(item["SK"].split("#"), item["user_id"]) for item in places if item["listed_at"] < last]
                yield [EpisodeTrace(thread_id, int(number), user_id) for (_, thread_id, number), user_id in old]

    async def sweep_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        # The condition fails if the session has ended again.
        await self._table.delete(
            keys.episode(scope, episode.thread_id, episode.number),
            condition=f"{IS_NEW} OR ended_at < :before",
            values={":before": to_millis(before)},
        )

    async def unlist_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        await self._table.delete(
            keys.episode_place(scope, episode.id, episode.thread_id, episode.number),
            condition=f"{IS_NEW} OR listed_at < :before",
            values={":before": f"{to_millis(before):015d}"},
        )

    async def _read_traces(self, scope: Scope, partitions: Sequence[str], user_id: str | None) -> list[ThreadTrace]:
        """Return the traces of threads; with ``user_id``, only of that user's threads.

        With ``user_id``, a partition without a thread's item counts as the user's. Without, it is left out.
        """
        prefix = f"{scope.tenant_id}#"
        own_partitions = [
            key for key in dict.fromkeys(partitions) if key.startswith(prefix) and key[len(prefix)] != "~"
        ]
        thread_keys = [{"PK": key, "SK": "THREAD"} for key in own_partitions]
        thread_items = {item["PK"]: item for item in await self._table.get_many(thread_keys, consistent=True)}
        traces = [
            _to_trace(thread_items[key]) if key in thread_items else ThreadTrace(key.removeprefix(prefix))
            for key in own_partitions
            if key in thread_items or user_id is not None
        ]
        return [trace for trace in traces if user_id is None or trace.user_id in (None, user_id)]

    async def _remove(self, item: Item, tombstone: Item, counts: Counter[str]) -> None:
        """Remove an item, or the content of an audit record, and count it. The tombstone and clean records stay.

        ``tombstone`` is the thread's; empty for the items of a user.
        """
        if may_stay(item):
            return
        if item["SK"].startswith(keys.AUDIT):
            await self._table.put(erased_items.clean_audit_record(item, tombstone.get("fence", 0)))
        else:
            tenant_id, _, thread_id = item["PK"].partition("#")
            if item["SK"].startswith(keys.live_connection.prefix):
                # The connection's item first, because the thread's item leads to it.
                connection_id = item["SK"].removeprefix(keys.live_connection.prefix)
                await self._table.delete(keys.connection(connection_id, item["PK"]))
            if item["SK"].startswith(keys.THREAD_PROCEDURE):
                # A pending procedure that was made of the thread is removed; a decided one only forgets the thread.
                _, owner, _, version = item["SK"].split("#")
                procedures = DynamoProcedures(self._table, self._clock)
                await procedures.forget_source(Scope(tenant_id, ANYBODY), owner, item["procedure_id"], int(version))
            if item["SK"].startswith("EPISODE#"):
                await self._forget_places(Scope(tenant_id, ANYBODY), thread_id, [keys.episode.read_number(item)])
            await self._table.delete(get_key(item))
        counts[find_count_name(item)] += 1

    async def _forget_places(self, scope: Scope, thread_id: str, numbers: Sequence[int]) -> None:
        """Remove the items that map the ids of episodes to their records."""
        for episode in _list_episodes(thread_id, numbers):
            await self._table.delete(keys.episode_place(scope, *episode))

    async def _remove_workflows(self, item: Item, thread_id: str) -> int:
        """Remove the workflows of ``thread_id`` from another thread's item. Return 1 if the item changed, else 0."""
        if "conversation" not in item or "active_agent_id" not in item:
            return 0
        state = unpack_conversation(item["active_agent_id"], item["conversation"])
        workflows = tuple(workflow for workflow in state.resumable if workflow.thread_id != thread_id)
        if len(workflows) == len(state.resumable):
            return 0
        packed = pack_conversation(replace(state, resumable=workflows))
        values: Item = {":old": item["conversation"]}
        expression = "REMOVE conversation"
        if packed is not None:
            expression, values[":new"] = "SET conversation = :new", packed
        # If a turn has changed the conversation, the next sweep looks again.
        return int(await self._table.change(get_key(item), expression, values, condition="conversation = :old"))

    async def _remove_all(self, items: Sequence[Item], tombstone: Item, counts: Counter[str]) -> None:
        await gather_each(items, lambda item: self._remove(item, tombstone, counts), at_once=AT_ONCE)


def _to_trace(item: Item) -> ThreadTrace:
    return _TRACE.of_json(
        item,
        id=item["PK"].partition("#")[2],
        is_buried=item.get("thread_status") == TOMBSTONE,
        run_id=unpack_id(item["run_id"]) if "run_id" in item else None,
    )


def _divide_by_age(items: Sequence[Item], before: datetime) -> tuple[list[Item], list[Item]]:
    """Return a user's items that were last changed until ``before``, and the others."""
    last = to_millis(before)
    old = [item for item in items if item.get("changed_at", 0) <= last]
    return old, [item for item in items if item.get("changed_at", 0) > last]


def _make_condition(item: Item | None) -> tuple[str, Item]:
    """Return the condition that nobody has taken the lease or been active since ``item`` was read."""
    if item is None:
        return IS_NEW, {}
    if "fence" not in item:
        return "attribute_exists(PK) AND attribute_not_exists(fence)", {}
    return "fence = :fence AND last_activity_at = :active", {
        ":fence": item["fence"],
        ":active": item["last_activity_at"],
    }


def _list_last_sessions(tombstone: Item) -> Sequence[int]:
    """Return the numbers of the sessions that a worker may have been ending when the thread was erased."""
    number = tombstone.get("episode", 1)
    return range(max(1, number - 1), number + 1)


def _list_episodes(thread_id: str, numbers: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return ids, threads and numbers of a thread's episodes."""
    return [(derive_episode_id(thread_id, number), thread_id, number) for number in numbers]
