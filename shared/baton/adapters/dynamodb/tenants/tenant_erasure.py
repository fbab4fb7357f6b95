"""Removal of all items of a tenant from the table.

A pass reads the keys of the whole table, so that it finds every item, whatever wrote it: new kinds need no line here.
Items outside of the tenant's partitions have its id in their key or as their ``tenant_id``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.adapters.dynamodb.table import TableStore, get_key
from baton.adapters.dynamodb.tenants.erased_items import clean_audit_record, find_kind
from baton.concurrency.tasks import gather_each
from baton.domain.documents.pipelines import Pipeline, RunsInProgress
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope

AT_ONCE = 32
"""The number of items that are removed at the same time."""
MAX_ATTEMPTS = 10
"""The maximum number of attempts to write a pipeline's runs in progress while others write them."""
_KINDS = {
    "A2A": "a2aTasks",
    "MCPCALL": "mcpCalls",
    "REDACTED": "redactedMessages",
    "THREAD": "threads",
    "WEBHOOK": "deadDeliveries",
    "~ACTIVITY": "activityCounts",
    "~AGENTS": "agentVersions",
    "~AUDIT": "auditRecords",
    "~CONN": "connections",
    "~DESK": "deskPlaces",
    "~DOCUMENTS": "documents",
    "~EPISODE": "episodePlaces",
    "~EVALUATIONS": "evaluations",
    "~FORGET": "forgetRequests",
    "~LEARNING": "captureCounts",
    "~PAGES": "sourcePages",
    "~PIPELINE": "pipelineRuns",
    "~PROCEDURES": "procedures",
    "~PROMPTS": "systemPrompts",
    "~RETENTION": "settings",
    "~SCHEDULERS": "schedules",
    "~SETTINGS": "settings",
    "~SOURCES": "sources",
    "~SPENDING": "spendingCounts",
    "~THREAD": "threadOwners",
}
"""The names of counts, by partition or, within threads and users, by sort key. ``erased_items`` has further names."""
_OWN = (
    "begins_with(PK, :own) OR (begins_with(PK, :global) AND (tenant_id = :tenant"
    " OR begins_with(SK, :attached) OR begins_with(SK, :waiting) OR (PK = :retentions AND SK = :tenant)))"
)


class DynamoTenantErasure(TableStore):
    """``TenantErasure`` on the conversation table, which must have no fence."""

    async def count(
        self, scope: Scope, position: str | None, *, keeps_audit: bool
    ) -> tuple[Mapping[str, int], str | None]:
        items, position = await self._read_page(scope, position)
        counts = Counter(find_tenant_kind(item) for item in items)
        if keeps_audit:
            audit_keys = [get_key(item) for item in items if _is_audit(item)]
            records = await self._table.get_many(audit_keys, consistent=True)
            counts -= Counter(find_tenant_kind(record) for record in records if "cleaned" in record)
        if position is None:
            queue = DynamoPipelineQueue(self._table)
            running = [await queue.running(pipeline) for pipeline in Pipeline]
            counts["pipelineRuns"] += sum(runs.count_of_tenant(scope.tenant_id) for runs in running)
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
            counts[find_tenant_kind(item)] += 1

        items, position = await self._read_page(scope, position)
        await gather_each(items, remove, at_once=AT_ONCE)
        if position is None:
            for pipeline in Pipeline:
                counts["pipelineRuns"] += await self._end_running(scope, pipeline)
        return +counts, position

    async def _read_page(self, scope: Scope, position: str | None) -> tuple[list[Item], str | None]:
        """Return the keys of the tenant's items on a page, and the position of the next page; None on the last page."""
        own = f"{scope.tenant_id}#"
        values: Item = {
            ":own": own,
            ":global": "~",
            ":tenant": scope.tenant_id,
            ":attached": keys.connection("", own)["SK"],
            ":waiting": keys.waiting_runs(scope.tenant_id),
            ":retentions": keys.RETENTIONS,
        }
        after = json.loads(position) if position is not None else None
        pages = self._table.scan_keys(where=(_OWN, values), after=after, consistent=True)
        try:
            items, following = await anext(pages)
        finally:
            await pages.aclose()
        return items, json.dumps(dict(following)) if following is not None else None

    async def _end_running(self, scope: Scope, pipeline: Pipeline) -> int:
        """Free the tenant's slots of a pipeline. Return their number.

        Raises ``StoreUnavailable`` if other writers were faster in all attempts.
        """
        queue = DynamoPipelineQueue(self._table)
        for _ in range(MAX_ATTEMPTS):
            running = await queue.running(pipeline)
            slots = {subject: slot for subject, slot in running.slots.items() if slot.tenant_id != scope.tenant_id}
            count = len(running.slots) - len(slots)
            if not count and running.last_tenant_id != scope.tenant_id:
                return 0
            last = "" if running.last_tenant_id == scope.tenant_id else running.last_tenant_id
            if await queue.save_running(pipeline, RunsInProgress(slots, running.revision + 1, last)):
                return count
        raise StoreUnavailable


def find_tenant_kind(item: Item) -> str:
    """Return the name under which an item of a tenant is counted."""
    first, _, rest = item["PK"].partition("#")
    if first.startswith("~"):
        return _KINDS.get(first, "otherItems")
    name = rest.partition("#")[0] if rest.startswith("~") else item["SK"].partition("#")[0]
    if name == "~USER":
        name = item["SK"].partition("#")[0]
    return _KINDS.get(name) or find_kind(item)


def _is_audit(item: Item) -> bool:
    return bool(item["SK"].startswith(keys.AUDIT))
