"""The places of conversations at desks, in one partition for each desk."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.threads.thread_item import thread_from_item
from baton.concurrency.tasks import gather_all
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.domain.times import to_millis
from baton.ports.threads.desks import DeskPlace

KEPT = timedelta(days=60)
"""The time after its arrival at which TTL removes a place, which may be left of a forgotten conversation."""
AT_ONCE = 100
"""The number of threads that are read with one request."""
UNCOMMITTED = timedelta(minutes=16)
"""The age of a place after which no worker can commit the run that wrote it."""


class DynamoDeskPlaces(TimedTableStore):
    """``DeskPlaces`` on the conversation table."""

    async def add(self, scope: Scope, desk_place: DeskPlace) -> None:
        expires_at = int((desk_place.arrived_at + KEPT).timestamp())
        await self._table.put({**make_desk_place_key(scope, desk_place), "expires_at": expires_at})

    async def remove(self, scope: Scope, desk_place: DeskPlace) -> None:
        await self._table.delete(make_desk_place_key(scope, desk_place))

    async def threads(
        self, scope: Scope, desk_id: str, *, limit: int, after: DeskPlace | None = None
    ) -> Sequence[Thread]:
        threads: list[Thread] = []
        first = f"{make_desk_place_key(scope, after)['SK']}~" if after is not None else keys.AT
        pages = self._table.query(keys.desk(scope, desk_id), first=first, last=f"{keys.AT}~", limit=AT_ONCE)
        async with aclosing(pages):
            async for page in pages:
                threads += await self._select_at_desk(scope, page)
                if len(threads) >= limit:
                    break
        return threads[:limit]

    async def _select_at_desk(self, scope: Scope, entries: Sequence[Item]) -> list[Thread]:
        """Return the threads that are at their entries' desk, and remove the old entries of threads that are not."""
        now = self._clock.now()
        thread_ids = [entry["SK"].rpartition("#")[2] for entry in entries]
        # An inconsistent read may be seconds behind, but only entries that are minutes old are removed.
        items = await self._table.get_many([keys.thread(scope, thread_id) for thread_id in dict.fromkeys(thread_ids)])
        present = [item for item in items if item.get("thread_status") != "deleted"]
        stored_items = {keys.thread_id_of(scope, item): item for item in present}
        threads, stale_keys = [], []
        for thread_id, entry in zip(thread_ids, entries, strict=True):
            thread = thread_from_item(thread_id, stored_items[thread_id], now) if thread_id in stored_items else None
            current = DeskPlace.of(thread_id, thread.conversation) if thread is not None else None
            if thread is not None and current is not None and make_desk_place_key(scope, current) == get_key(entry):
                threads.append(thread)
            elif _compute_age_ms(entry, to_millis(now)) > UNCOMMITTED // timedelta(milliseconds=1):
                stale_keys.append(get_key(entry))
        with contextlib.suppress(StoreUnavailable):  # the next reader removes them
            await gather_all(*(self._table.delete(key) for key in stale_keys))
        return threads


def make_desk_place_key(scope: Scope, desk_place: DeskPlace) -> Key:
    """Return the key of a place."""
    return keys.desk_place(scope, desk_place.desk_id, to_millis(desk_place.arrived_at), desk_place.thread_id)


def _compute_age_ms(entry: Item, now: int) -> int:
    return now - int(entry["SK"].removeprefix(keys.AT).partition("#")[0])
