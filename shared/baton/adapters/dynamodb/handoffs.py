"""Handoffs on DynamoDB, in the partition of their thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.bodies import ItemBodies
from baton.adapters.dynamodb.fenced import put_fenced
from baton.adapters.dynamodb.flow_codec import pack_handoff, unpack_handoff
from baton.adapters.dynamodb.table import Item, Table
from baton.adapters.s3_bodies import S3Bodies
from baton.domain.cursors import decode_text, encode_text
from baton.domain.floor import HandoffPlace
from baton.domain.handoff import HandoffRequest
from baton.domain.identity import Scope
from baton.ports.thread_store import Lease

_LAST = f"{keys.HANDOFF}~"
"""Behind every handoff of a thread."""


class DynamoHandoffs:
    """``HandoffStore`` on the conversation table, with large bodies in S3."""

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        self._table = table
        self._bodies = ItemBodies(bodies)

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        item: Item = {
            **keys.handoff(scope, thread_id, request.ordinal, request.number),
            **await self._bodies.kept(scope, thread_id, pack_handoff(request)),
        }
        await put_fenced(self._table, lease, item)

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        item = await self._table.get(keys.handoff(scope, thread_id, *place))
        return _request(scope, thread_id, item, await self._bodies.read(scope, thread_id, item)) if item else None

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        before = keys.HANDOFF + decode_text(cursor) if cursor else _LAST
        found: list[Item] = []
        async for page in self._table.query(
            keys.partition(scope, thread_id), first=keys.HANDOFF, last=before, newest_first=True, limit=limit + 2
        ):
            found += [item for item in page if item["SK"] != before]
            if len(found) > limit:
                break
        shown = found[:limit]
        bodies = await asyncio.gather(*(self._bodies.read(scope, thread_id, item) for item in shown))
        requests = [_request(scope, thread_id, item, body) for item, body in zip(shown, bodies, strict=True)]
        more = encode_text(_place(shown[-1])) if len(found) > limit else None
        return requests, more


def _place(item: Item) -> str:
    sort_key: str = item["SK"]
    return sort_key.removeprefix(keys.HANDOFF)


def _request(scope: Scope, thread_id: str, item: Item, body: bytes) -> HandoffRequest:
    ordinal, _, number = _place(item).partition("#")
    return unpack_handoff(
        body, thread_id=thread_id, tenant_id=scope.tenant_id, ordinal=int(ordinal), number=int(number)
    )
