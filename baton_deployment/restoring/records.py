"""The restore of items outside of conversations: agents, procedures, documents, settings, users' records."""

from __future__ import annotations

from dataclasses import dataclass

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.item_kinds import Handling, ItemKind, find_partition_name, find_tenant
from baton.adapters.dynamodb.memory.procedure_writes import procedure_from_item
from baton.adapters.dynamodb.table import Table
from baton.domain.memory.forgetting import ForgetStatus
from baton.domain.memory.procedure import ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton_deployment.restoring.comparison import Pair, apply_to_pairs
from baton_deployment.restoring.due_items import PastDue, prepare_due
from baton_deployment.restoring.forgotten import ANYBODY, ForgottenSince
from baton_deployment.restoring.item_counts import ItemCounts
from baton_deployment.restoring.live_writes import LiveWrites, has_expired


@dataclass(slots=True)
class RestoredRecords(ItemCounts):
    """The result of the restore of a partition, or of its plan."""

    forgotten: int = 0
    """The number of items of forgotten users, which are left out."""
    unknown: int = 0
    """The number of items of unknown kinds, which are not copied."""


@dataclass(frozen=True, slots=True)
class RecordRestore:
    """The restore of partitions that do not belong to a conversation."""

    source: Table
    live: Table
    writes: LiveWrites
    forgotten: ForgottenSince
    clock: Clock
    replaces: bool = False
    """Whether items that differ are replaced."""
    includes_removed: bool = False
    """Whether items that may have been removed in ordinary use are put back."""
    past_due: PastDue = PastDue.RUN

    async def restore(self, partition: str) -> RestoredRecords:
        """Restore a partition's items, or for a plan find out the result. Raises ``StoreUnavailable``."""
        result = RestoredRecords()
        tenant_id = find_tenant(partition) or ""
        forgotten_partitions = await self.forgotten.list_user_partitions(tenant_id) if tenant_id else set()
        is_forgotten = partition in forgotten_partitions

        async def apply(pair: Pair) -> None:
            kind = pair.kind
            if pair.then is None:
                return
            if kind is None:
                result.unknown += 1
                return
            if kind.of_thread or kind.handling is Handling.MOMENT or has_expired(pair.then, self.clock.now()):
                return
            if is_forgotten or await self._is_forgotten(tenant_id, pair.then):
                result.forgotten += 1
            elif pair.is_lost:
                await self._put_back(tenant_id, pair.then, kind, result)
            elif pair.differs and pair.now is not None:
                await self._replace(tenant_id, pair.then, pair.now, result)

        await apply_to_pairs(self.source, self.live, partition, apply)
        return result

    async def _put_back(self, tenant_id: str, item: Item, kind: ItemKind, result: RestoredRecords) -> None:
        """Put back a lost item of a known kind, if the rules allow it, and count it in ``result``."""
        if kind.handling is Handling.REMOVABLE and not self.includes_removed:
            result.removable[kind.name] += 1
            return
        if not await self._is_allowed(tenant_id, item):
            result.contradicting += 1
            return
        copied = prepare_due(item, self.past_due, self.clock.now())
        if copied is not None and await self.writes.put_back(copied):
            result.items[kind.name] += 1

    async def _replace(self, tenant_id: str, item: Item, now: Item, result: RestoredRecords) -> None:
        """Replace a differing item, if the operator wants that and the rules allow it, and count it in ``result``."""
        is_replaced = self.replaces and await self._is_allowed(tenant_id, item)
        copied = prepare_due(item, self.past_due, self.clock.now()) if is_replaced else None
        if copied is None:
            result.differing += 1
        elif copied != now:
            result.replaced += await self.writes.replace(copied, now)

    async def _is_forgotten(self, tenant_id: str, item: Item) -> bool:
        """Return whether an item belongs to a forgotten user, or was made from a forgotten or missing conversation."""
        scope = Scope(tenant_id, ANYBODY)
        if item["PK"] == keys.schedulers(scope):
            return await self.forgotten.has_user(Scope(tenant_id, item["user_id"]))
        if find_partition_name(item["PK"]) != "PROCEDURES" or "procedure_status" not in item:
            return False
        source = procedure_from_item(scope, item).source
        if source is None:
            return False
        thread = await self.source.get(keys.thread(scope, source.thread_id), consistent=False)
        return thread is None or await self.forgotten.has_thread(Scope(tenant_id, thread["user_id"]), thread)

    async def _is_allowed(self, tenant_id: str, item: Item) -> bool:
        """Return whether an item may come back beside the present items of the live table."""
        if item.get("request_status") == ForgetStatus.RUNNING.value:
            return False  # nothing would carry the request out
        if not item["SK"].startswith(agent_keys.APPROVED):
            return True
        slug = item["SK"].removeprefix(agent_keys.APPROVED)
        version_sort = f"{agent_keys.procedure_versions(slug)}{item['version']:06d}"
        version = await self.live.get({"PK": item["PK"], "SK": version_sort})
        return version is None or version["procedure_status"] == ProcedureStatus.APPROVED.value
