"""A pass over the restored table: its conversations, and the records of tenants and users."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.item_kinds import KINDS, Handling, find_partition_name, find_tenant
from baton.adapters.dynamodb.shards import LISTING
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.removals import DynamoTenantRemovals
from baton.concurrency.tasks import gather_each
from baton.domain.errors import TenantRemoved
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.tenants.removed_tenants import RemovedTenants
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.conversation import ConversationRestore
from baton_deployment.restoring.conversation_check import ConversationCheck
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.forgotten import ANYBODY, ForgottenSince
from baton_deployment.restoring.live_writes import LiveWrites, Pace
from baton_deployment.restoring.object_versions import ObjectVersions
from baton_deployment.restoring.records import RecordRestore

AT_ONCE = 16
"""The most partitions that are compared at the same time."""
PAGE_SIZE = 500
"""The most keys in one request of the scan."""
BATCH_SIZE = 64
Position = Mapping[str, str]
Report = Callable[[Counts, Position | None], Awaitable[None]]
_COPIED = {name for (name, _), kind in KINDS.items() if not kind.of_thread and kind.handling is not Handling.MOMENT}
"""The names of partitions whose records are copied."""
_NAMES = {name for name, _ in KINDS}
"""The names of all partitions that this release knows."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The tables and buckets of a restore."""

    source: Table
    """The restored table."""
    live: Table
    objects: ObjectVersions | None
    """None if files are not restored."""
    forgotten: ForgottenSince
    clock: Clock


@dataclass
class Restoration:
    """One pass, which plans or writes. It may be repeated, and two may run at the same time."""

    stores: Stores
    choice: Choice
    writes: bool
    tenants: set[str] = field(default_factory=set)
    """The tenants of the partitions so far."""
    check: ConversationCheck | None = None
    """The check of the live conversations, for a pass that verifies."""
    page_size: int = PAGE_SIZE
    batch_size: int = BATCH_SIZE
    """The number of partitions after which progress is reported."""

    def __post_init__(self) -> None:
        stores, choice = self.stores, self.choice
        self._removed = RemovedTenants(DynamoTenantRemovals(stores.live), stores.clock)
        live = replace(stores.live, check_partition=self._removed.check_partition)
        live_writes = LiveWrites(live, Pace(choice.rate), are_made=self.writes)
        self._conversations = ConversationRestore(
            stores.source,
            stores.live,
            live_writes,
            stores.forgotten,
            stores.objects,
            stores.clock,
            choice.replaces,
            choice.includes_removed,
            choice.past_due,
        )
        self._records = RecordRestore(
            stores.source,
            stores.live,
            live_writes,
            stores.forgotten,
            stores.clock,
            choice.replaces,
            choice.includes_removed,
            choice.past_due,
        )

    async def run(self, report: Report, *, counts: Counts | None = None, after: Position | None = None) -> Counts:
        """Restore the chosen part, and return the counts. ``counts`` and ``after`` continue an earlier pass.

        ``report`` gets the counts and the position after each batch. Raises ``StoreUnavailable``.
        """
        total = counts or Counts()
        async with aclosing(self._list_partitions(after)) as pages:
            async for partitions, position in pages:
                await gather_each(partitions, lambda partition: self._restore(partition, total), at_once=AT_ONCE)
                await report(total, position)
        return total

    async def _restore(self, partition: str, total: Counts) -> None:
        """Restore a partition, unless its tenant is removed, which is counted."""
        try:
            await self._removed.check_partition(partition)
            await self._restore_partition(partition, total)
        except TenantRemoved:
            total.removed_partitions += 1

    async def _restore_partition(self, partition: str, total: Counts) -> None:
        """Restore a conversation or the records of a partition, with the files, and add the result to ``total``."""
        tenant_id = find_tenant(partition)
        if tenant_id is not None:
            self.tenants.add(tenant_id)
        name = find_partition_name(partition)
        if not name and tenant_id is not None:
            thread_id = partition.removeprefix(f"{tenant_id}#")
            total.add_conversation(tenant_id, thread_id, await self._conversations.restore(tenant_id, thread_id))
            if self.check is not None:
                total.add_check(tenant_id, thread_id, await self.check.check(tenant_id, thread_id))
        elif name in _COPIED or name not in _NAMES:
            total.add_records(await self._records.restore(partition))
        if name == "DOCUMENTS" and self.stores.objects is not None:
            prefix = partition.replace("#~DOCUMENTS#", "/~documents/") + "/"
            total.files += await self.stores.objects.restore(prefix, writes=self.writes)

    async def _list_partitions(self, after: Position | None) -> AsyncGenerator[tuple[Sequence[str], Position | None]]:
        """Yield batches of partitions to restore, each with the position after it, which is None at the end."""
        tenant_id, thread_id = self.choice.tenant_id, self.choice.thread_id
        if tenant_id is not None and thread_id is not None:
            yield await self._list_with_forks(Scope(tenant_id, ANYBODY), thread_id), None
            return
        prefix = f"{tenant_id}#" if tenant_id is not None else None
        last, partitions = after["PK"] if after is not None else "", list[str]()
        async with aclosing(self.stores.source.scan_keys(prefix=prefix, after=after, limit=self.page_size)) as pages:
            async for page, position in pages:
                # The items of a partition are adjacent, and the partition is restored when the first item is read.
                partitions += [partition for partition in dict.fromkeys(key["PK"] for key in page) if partition != last]
                last = page[-1]["PK"] if page else last
                if len(partitions) >= self.batch_size or position is None:
                    yield partitions, position
                    partitions = []

    async def _list_with_forks(self, scope: Scope, thread_id: str) -> list[str]:
        """Return the partitions of a conversation, its forks, and their forks."""
        partitions = [keys.partition(scope, thread_id)]
        for partition in partitions:
            listing = keys.fork_listing(scope, partition.removeprefix(keys.partition(scope, "")))
            forks = await self.stores.source.read_all(listing, index=LISTING)
            partitions += [fork["PK"] for fork in forks if fork["PK"] not in partitions]
        return partitions
