"""The Context Inspector's records: an item a run, and the agents' system prompts, once for a tenant."""

from __future__ import annotations

from typing import Any

from cachetools import LRUCache

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.bodies import ItemBodies, pack, unpack
from baton.adapters.dynamodb.table import Table, TableStore
from baton.concurrency.tasks import LARGE, gather_all, off_loop
from baton.domain.tenants.identity import Scope
from baton.ports.threads.run_records import ContextRecord

MAX_INLINE = 8 * 1024
"""Bytes of a record in an item. A larger one costs more write units than an object in S3 does."""
MAX_KNOWN_PROMPTS = 10_000
"""Prompts that this process remembers as stored."""


class DynamoContextRecords(TableStore):
    """``ContextRecords`` on the conversation table, with large bodies in S3."""

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        super().__init__(table)
        self._bodies = ItemBodies(bodies)
        self._known: LRUCache[tuple[str, str], bool] = LRUCache(MAX_KNOWN_PROMPTS)
        """Tenants' prompts that are stored, by their digests."""

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        unknown = [digest for digest in record.prompts if not self._known.get((scope.tenant_id, digest))]
        await gather_all(*(self._put_prompt(scope, digest, record.prompts[digest]) for digest in unknown))
        packed = await off_loop(LARGE, pack, record.body)
        body = await self._bodies.kept(scope, thread_id, packed, room=MAX_INLINE)
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
