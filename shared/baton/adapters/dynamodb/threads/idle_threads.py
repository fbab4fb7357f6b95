"""The idle index on DynamoDB: sharded and keys only. Turns do not depend on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.memory.episodes import is_settled
from baton.adapters.dynamodb.shards import read_due_entries
from baton.adapters.dynamodb.table import AT_ONCE
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.threads.thread_item import thread_from_item
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.threads import DueThread, IdleThread, compute_closing_time


class DynamoIdleThreads(TimedTableStore):
    """``IdleThreads`` on the conversation table."""

    async def due(self, before: datetime) -> AsyncIterator[DueThread]:
        async with aclosing(read_due_entries(self._table, keys.idle_shards(), before)) as pages:
            async for page in pages:
                entries = sorted(page, key=lambda entry: (entry["idle_check_at"], entry["PK"]))
                for start in range(0, len(entries), AT_ONCE):
                    for due in await self._load(entries[start : start + AT_ONCE]):
                        yield due

    async def postpone(self, due: DueThread, until: datetime, *, failures: int = 0) -> bool:
        values: Item = {":until": to_millis(until), ":seen": to_millis(due.check_at)}
        expression = "SET idle_check_at = :until REMOVE idle_failures"
        if failures:
            expression = "SET idle_check_at = :until, idle_failures = :failures"
            values[":failures"] = failures
        thread = {"PK": f"{due.tenant_id}#{due.thread_id}", "SK": "THREAD"}
        return await self._table.change(thread, expression, values, condition="idle_check_at = :seen")

    async def _load(self, entries: list[Item]) -> list[DueThread]:
        """Return the threads that are due. Read consistently, because the index may be behind."""
        items = {item["PK"]: item for item in await self._table.get_listed(entries, consistent=True)}
        settled = await self._find_settled(items.values())
        now = self._clock.now()
        threads = []
        for entry in entries:
            item = items.get(entry["PK"], {})
            if item.get("idle_check_at") != entry["idle_check_at"] or item.get("thread_status") == "deleted":
                continue  # the thread is gone, or another sweep was faster
            tenant_id, _, thread_id = entry["PK"].partition("#")
            threads.append(
                DueThread(
                    tenant_id,
                    thread_id,
                    check_at=from_millis(item["idle_check_at"]),
                    failures=item.get("idle_failures", 0),
                    read=partial(
                        _to_idle_thread, tenant_id, thread_id, item, now, has_last_episode=entry["PK"] in settled
                    ),
                )
            )
        return threads

    async def _find_settled(self, items: Iterable[Item]) -> set[str]:
        """Return the partitions of the threads whose previous session needs no more work on its episode."""
        numbers = {item["PK"]: item["episode"] - 1 for item in items if isinstance(item.get("episode"), int)}
        episode_keys = [
            {"PK": key, "SK": keys.episode.make_sort_key(number)} for key, number in numbers.items() if number > 0
        ]
        episodes = await self._table.get_many(episode_keys, consistent=True)
        return {episode["PK"] for episode in episodes if is_settled(episode)}


def _to_idle_thread(tenant_id: str, thread_id: str, item: Item, now: datetime, *, has_last_episode: bool) -> IdleThread:
    thread = thread_from_item(thread_id, item, now)
    return IdleThread(
        scope=Scope(tenant_id, item["user_id"]),
        thread=thread,
        closes_at=compute_closing_time(thread, timedelta(milliseconds=item["idle_ms"])),
        has_last_episode=has_last_episode,
    )
