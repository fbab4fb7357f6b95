"""Pages of lists, and several partitions of an index merged into one list."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton.concurrency.tasks import gather_all
from baton.domain.cursors import decode_text, encode_text
from baton.domain.times import to_millis

LISTING = ("listing", "listing", "listed_at")
"""The index of lists: its name, its hash and its range key."""
SMALLEST_PAGE = 10
"""The minimum number of entries that are requested from a partition."""
IDLE = ("idle", "idle_shard", "idle_check_at")
"""The index of records that are due for a check: its name, its hash and its range key."""
DUE_PAGE = 25
"""The number of due entries on a page of one partition."""

T = TypeVar("T")


def make_page(items: list[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[list[T], str | None]:
    """Return the first ``limit`` items, and the cursor of the last returned item if there are more."""
    return items[:limit], cursor_of(items[limit - 1]) if len(items) > limit else None


@dataclass(slots=True)
class _Shard:
    """The entries of one partition that were read but not yet yielded."""

    pages: AsyncIterator[list[Item]]
    entries: deque[Item] = field(default_factory=deque)

    async def fill(self) -> None:
        """Read pages until there is an entry or the partition ends."""
        while not self.entries and (page := await anext(self.pages, None)) is not None:
            self.entries.extend(page)


async def read_newest_first(
    table: Table, partitions: Sequence[str], *, before: str | None, limit: int
) -> AsyncGenerator[Item, None]:
    """Yield the entries of several partitions as one list, newest first, older than ``before``.

    ``before`` is a sort key; None begins with the newest entry. ``limit`` is the expected number of entries. The
    partitions are read in parallel, each for somewhat more than its share of the entries. A partition is read again
    when its entries are used up. Sort keys are unique, because they end with an id, so one sort key marks the beginning
    of the next page in every partition.
    """
    share = max(SMALLEST_PAGE, 2 * limit // len(partitions))
    async with AsyncExitStack() as reading:
        shards = []
        for partition in partitions:
            pages = table.query(partition, last=before, newest_first=True, limit=share, index=LISTING)
            shards.append(_Shard(await reading.enter_async_context(aclosing(pages))))
        while True:
            used_up = [shard for shard in shards if not shard.entries]
            if used_up:
                await gather_all(*(shard.fill() for shard in used_up))
                shards = [shard for shard in shards if shard.entries]
                if not shards:
                    return
            newest = max(shards, key=lambda shard: str(shard.entries[0]["listed_at"]))
            entry = newest.entries.popleft()
            if entry["listed_at"] != before:
                yield entry


async def read_page(
    table: Table, partitions: Sequence[str], *, limit: int, cursor: str | None
) -> tuple[list[Item], str | None]:
    """Return the page of ``read_newest_first`` after ``cursor``, and the next cursor; None on the last page.

    Raises ``InvalidRequest`` for a text that is no cursor.
    """
    before = decode_text(cursor) if cursor else None
    entries: list[Item] = []
    if partitions:
        async with aclosing(read_newest_first(table, partitions, before=before, limit=limit + 1)) as newest:
            entries = await anext(read_batches(newest, limit + 1, oldest=""), [])
    return make_page(entries, limit, lambda entry: encode_text(entry["listed_at"]))


async def read_batches(entries: AsyncGenerator[Item], size: int, oldest: str) -> AsyncGenerator[list[Item]]:
    """Yield the entries of ``read_newest_first`` in lists of ``size``, until one is older than ``oldest``."""
    batch: list[Item] = []
    async for entry in entries:
        if entry["listed_at"] < oldest:
            break
        batch.append(entry)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def read_due_entries(
    table: Table, partitions: Sequence[str], before: datetime, *, page_size: int = DUE_PAGE
) -> AsyncGenerator[list[Item], None]:
    """Yield lists of the entries that are due at the time ``before`` or earlier.

    Each list has a page of every partition that has further entries, with at most ``page_size`` entries each.
    """
    async with AsyncExitStack() as reading:
        shards = []
        for partition in partitions:
            pages = table.query(partition, last=to_millis(before), limit=page_size, index=IDLE)
            shards.append(await reading.enter_async_context(aclosing(pages)))
        while shards:
            due_pages = await gather_all(*(anext(shard, None) for shard in shards))
            shards = [shard for shard, page in zip(shards, due_pages, strict=True) if page is not None]
            yield [entry for page in due_pages if page for entry in page]
