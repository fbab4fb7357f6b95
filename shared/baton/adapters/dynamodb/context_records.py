"""The Context Inspector's records: an item a run, and the agents' system prompts, once for a tenant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.bodies import ItemBodies, pack, unpack
from baton.adapters.dynamodb.table import Table
from baton.adapters.s3_records import S3Bodies
from baton.concurrency import LARGE, gather_all, off_loop
from baton.domain.identity import Scope
from baton.ports.run_records import ContextRecord

MAX_INLINE = 8 * 1024
"""Bytes of a record in an item. A larger one costs more write units than an object in S3 does."""
MAX_KNOWN_PROMPTS = 10_000
"""Prompts that this process remembers as stored."""


@dataclass(frozen=True, slots=True)
class DynamoContextRecords:
    """``ContextRecords`` on the conversation table, with large bodies in S3."""

    table: Table
    bodies: S3Bodies
    _known: LRUCache[tuple[str, str], bool] = field(default_factory=lambda: LRUCache(MAX_KNOWN_PROMPTS))
    """Tenants' prompts that are stored, by their digests."""

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        unknown = [digest for digest in record.prompts if (scope.tenant_id, digest) not in self._known]
        await gather_all(*(self._put_prompt(scope, digest, record.prompts[digest]) for digest in unknown))
        packed = await off_loop(LARGE, pack, record.body)
        body = await ItemBodies(self.bodies).kept(scope, thread_id, packed, room=MAX_INLINE)
        item = {**keys.context(scope, thread_id, run_id), **body}
        await self.table.put(item | {"prompts": sorted(record.prompts)} if record.prompts else item)

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> ContextRecord | None:
        item = await self.table.get(keys.context(scope, thread_id, run_id))
        if item is None:
            return None
        packed = await ItemBodies(self.bodies).read(scope, thread_id, item)
        body: dict[str, Any] = await off_loop(len(packed), unpack, packed)
        digests = item.get("prompts", [])
        found = await gather_all(*(self.table.get(keys.system_prompt(scope, digest)) for digest in digests))
        prompts = {digest: unpack(each["body"]) for digest, each in zip(digests, found, strict=True) if each}
        return ContextRecord(body, prompts)

    async def _put_prompt(self, scope: Scope, digest: str, prompt: str) -> None:
        await self.table.put({**keys.system_prompt(scope, digest), "body": pack(prompt)})
        self._known[scope.tenant_id, digest] = True
