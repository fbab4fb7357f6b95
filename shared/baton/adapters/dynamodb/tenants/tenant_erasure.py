"""Removal of all items of a tenant from the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.item_kinds import ANY, KINDS
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.table_stores import TableStore
from baton.adapters.dynamodb.tenants.erased_items import clean_audit_record
from baton.adapters.dynamodb.tenants.tenant_items import name_kind, read_keys
from baton.concurrency.tasks import gather_each
from baton.domain.documents.pipelines import Pipeline, RunsInProgress
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope

AT_ONCE = 32
"""The number of items that are removed at the same time."""
MAX_ATTEMPTS = 10
"""The maximum number of attempts to write a pipeline's runs in progress while others write them."""
_RUNS = KINDS["~PIPELINE", ANY].count_name


class DynamoTenantErasure(TableStore):
    """``TenantErasure`` on the conversation table, which must have no ``check_partition``."""

    async def count(
        self, scope: Scope, position: str | None, *, keeps_audit: bool
    ) -> tuple[Mapping[str, int], str | None]:
        items, position = await read_keys(self._table, scope, position)
        counts = Counter(name_kind(item) for item in items)
        if keeps_audit:
            audit_keys = [get_key(item) for item in items if _is_audit(item)]
            records = await self._table.get_many(audit_keys, consistent=True)
            counts -= Counter(name_kind(record) for record in records if "cleaned" in record)
        if position is None:
            queue = DynamoPipelineQueue(self._table)
            running = [await queue.read_running(pipeline) for pipeline in Pipeline]
            counts[_RUNS] += sum(runs.count_of_tenant(scope.tenant_id) for runs in running)
        return +counts, position

    async def sweep(
        self, scope: Scope, position: str | None, *, keeps_audit: bool
    ) -> tuple[Mapping[str, int], str | None]:
        counts: Counter[str] = Counter()

        async def remove(item: Item) -> None:
            if keeps_audit and _is_audit(item):
                record = await self._table.get(get_key(item))
                if record is None or "cleaned" in record:
                    return
                await self._table.put(clean_audit_record(record, int(record.get("fence", 0))))
                counts["auditDetails"] += 1
                return
            await self._table.delete(get_key(item))
            counts[name_kind(item)] += 1

        items, position = await read_keys(self._table, scope, position)
        await gather_each(items, remove, at_once=AT_ONCE)
        if position is None:
            for pipeline in Pipeline:
                counts[_RUNS] += await self._free_slots(scope, pipeline)
        return +counts, position

    async def _free_slots(self, scope: Scope, pipeline: Pipeline) -> int:
        """Free the tenant's slots of a pipeline. Return their number.

        Raises ``StoreUnavailable`` if other writers were faster in all attempts.
        """
        queue = DynamoPipelineQueue(self._table)
        for _ in range(MAX_ATTEMPTS):
            running = await queue.read_running(pipeline)
            slots = {subject: slot for subject, slot in running.slots.items() if slot.tenant_id != scope.tenant_id}
            count = len(running.slots) - len(slots)
            if not count and running.last_tenant_id != scope.tenant_id:
                return 0
            last = "" if running.last_tenant_id == scope.tenant_id else running.last_tenant_id
            if await queue.save_running(pipeline, RunsInProgress(slots, running.revision + 1, last)):
                return count
        raise StoreUnavailable


def _is_audit(item: Item) -> bool:
    return bool(item["SK"].startswith(keys.AUDIT))
