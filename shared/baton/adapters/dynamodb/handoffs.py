"""Handoffs on DynamoDB: audit records in the partition of their thread that contain the whole request."""

from __future__ import annotations

import json
from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import ItemBodies
from baton.adapters.dynamodb.fenced import put_fenced
from baton.adapters.dynamodb.shapes import HANDOFF
from baton.adapters.dynamodb.table import Table
from baton.adapters.s3_bodies import S3Bodies
from baton.concurrency import gather_all
from baton.domain.cursors import decode_text, encode_text
from baton.domain.handoff import HandoffOutcome, HandoffPlace, HandoffRequest, handoff_id
from baton.domain.identity import Scope
from baton.domain.times import from_millis
from baton.ports.leases import Lease

AUDITED = "handoff"
"""The action of its audit record."""


class DynamoHandoffs:
    """``HandoffStore`` on the conversation table, with large bodies in S3.

    A separate record besides the audit record would cost every handoff a third write unit.
    """

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        self._table = table
        self._bodies = ItemBodies(bodies)

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        sortable_id = _sortable_id(thread_id, request.place)
        began = "refused" if request.outcome is HandoffOutcome.REFUSED else "started"
        item: Item = {
            **keys.audit(scope, thread_id, sortable_id),
            "user_id": request.user_id,
            "action": AUDITED,
            "outcome": began,
            "detail": json.dumps(request.audit_detail),
            "listing": keys.audit_listing(scope, sortable_id),
            "listed_at": sortable_id,
            "ordinal": request.ordinal,
            "number": request.number,
            **await self._bodies.kept(scope, thread_id, HANDOFF.pack(request)),
        }
        await put_fenced(self._table, lease, item)

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        item = await self._table.get(keys.audit(scope, thread_id, _sortable_id(thread_id, place)))
        return await self._request(scope, thread_id, item) if item else None

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        before = keys.AUDIT + decode_text(cursor) if cursor else f"{keys.AUDIT}~"
        found: list[Item] = []
        async for page in self._table.query(
            keys.partition(scope, thread_id), first=keys.AUDIT, last=before, newest_first=True
        ):
            found += [item for item in page if item["SK"] != before and item["action"] == AUDITED and "ordinal" in item]
            if len(found) > limit:
                break
        shown = found[:limit]
        requests = await gather_all(*(self._request(scope, thread_id, item) for item in shown))
        more = encode_text(shown[-1]["SK"].removeprefix(keys.AUDIT)) if len(found) > limit else None
        return requests, more

    async def _request(self, scope: Scope, thread_id: str, item: Item) -> HandoffRequest:
        started = int(item["SK"].removeprefix(keys.AUDIT).partition("#")[0])
        body = await self._bodies.read(scope, thread_id, item)
        return HANDOFF.unpack(
            body,
            thread_id=thread_id,
            tenant_id=scope.tenant_id,
            ordinal=item["ordinal"],
            number=item["number"],
            started_at=from_millis(started),
        )


def _sortable_id(thread_id: str, place: HandoffPlace) -> str:
    # The number orders the handoffs of one run, which have the same time.
    return f"{place.started:015d}#{place.number:02d}-{handoff_id(thread_id, place.ordinal, place.number)}"
