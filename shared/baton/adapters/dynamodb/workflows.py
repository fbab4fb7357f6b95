"""Guided workflows on DynamoDB, in the lists of their users."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import WORKFLOW
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.errors import LeaseLost
from baton.domain.identity import Scope
from baton.domain.times import to_millis
from baton.domain.workflow import UNFINISHED, Workflow
from baton.ports.clock import Clock
from baton.ports.handoffs import UnfinishedWorkflow, WorkflowElsewhere
from baton.ports.leases import Lease

KEPT_AFTER_ITS_END = timedelta(days=1)
"""How long a finished workflow stays in the user's list, where it makes late writes of dead workers fail."""
_MINE = "attribute_not_exists(PK) OR (thread_id = :thread AND fence <= :fence)"


class DynamoWorkflows:
    """``WorkflowStore`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        if workflow.thread_id != lease.thread_id:
            raise ValueError("a workflow is written by the holder of its own thread")
        ends_at = workflow.expires_at if workflow.status in UNFINISHED else workflow.updated_at + KEPT_AFTER_ITS_END
        item: Item = {
            **keys.user_flow(lease.scope, workflow.id),
            "thread_id": lease.thread_id,
            "body": WORKFLOW.pack(workflow),
            "fence": lease.fence,
            "changed_at": to_millis(workflow.updated_at),
            "expires_at": to_millis(ends_at) // 1000,
        }
        condition, values = _MINE, {":thread": lease.thread_id, ":fence": lease.fence}
        if moved_from is not None:
            condition = f"{_MINE} OR (thread_id = :from AND changed_at = :found)"
            values |= {":from": moved_from.thread_id, ":found": to_millis(moved_from.updated_at)}
        try:
            await self._table.put(item, condition=condition, values=values)
        except ConditionFailed as failure:
            holder = (failure.item or {}).get("thread_id", lease.thread_id)
            if holder == lease.thread_id:
                raise LeaseLost from None
            raise WorkflowElsewhere(holder) from None

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        item = await self._table.get(keys.user_flow(scope, workflow_id))
        return _listed(item) if item else None

    async def unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        now = self._clock.now()
        found: list[UnfinishedWorkflow] = []
        async for page in self._table.query(keys.user_listing(scope), prefix=keys.FLOW):
            found += [UnfinishedWorkflow(_listed(item), "offered" in item) for item in page]
        found = [each for each in found if each.workflow.is_unfinished(now)]
        return sorted(found, key=lambda each: (each.workflow.updated_at, each.workflow.id), reverse=True)

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        with suppress(ConditionFailed):
            await self._table.update(
                keys.user_flow(scope, workflow_id),
                "SET offered = :true",
                {":true": True},
                condition="attribute_exists(PK)",
            )


def _listed(item: Item) -> Workflow:
    workflow_id: str = item["SK"].removeprefix(keys.FLOW)
    return WORKFLOW.unpack(item["body"], id=workflow_id, thread_id=item["thread_id"])
