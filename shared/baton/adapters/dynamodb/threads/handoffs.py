"""Handoffs and workflows on DynamoDB."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import BodyStore
from baton.adapters.dynamodb.conditional_writes import FENCE_HOLDS, put_fenced
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shapes import HANDOFF, WORKFLOW
from baton.adapters.dynamodb.shards import make_page, read_batches, read_newest_first
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import ConditionFailed, TransactionFailed, Write
from baton.concurrency.tasks import gather_all
from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import LeaseLost
from baton.domain.handoffs.handoff import HandoffOutcome, HandoffPlace, HandoffRequest, derive_handoff_id
from baton.domain.handoffs.workflow import UNFINISHED, Workflow, WorkflowStatus
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.handoffs import CompletedQuery, CompletedWorkflow, UnfinishedWorkflow, WorkflowElsewhere
from baton.ports.threads.leases import Lease

KEPT_AFTER_ITS_END = timedelta(days=1)
"""The time for which a finished workflow stays in the user's list, so that late writes of dead workers fail."""
PAGE = 50
"""The number of entries of a listing that are read together."""
MAX_PAGES = 10
"""The maximum number of pages that one call searches for matching workflows."""
_MINE = "attribute_not_exists(PK) OR (thread_id = :thread AND fence <= :fence)"
"""The condition that the workflow is new, or is in the lease's thread without a higher fence."""


class DynamoWorkflows(TimedTableStore):
    """``WorkflowStore`` on the conversation table."""

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        if workflow.thread_id != lease.thread_id:
            raise ValueError("only the holder of the thread's lease may write its workflows")
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
        if workflow.status is WorkflowStatus.COMPLETED:
            await self._complete(lease, workflow, Write.put(item, condition=condition, values=values))
            return
        try:
            await self._table.put(item, condition=condition, values=values)
        except ConditionFailed as failure:
            raise _make_loss_error(lease, failure.item) from None

    async def _complete(self, lease: Lease, workflow: Workflow, write: Write) -> None:
        """Write a workflow and the records of its completion: all of them, or none."""
        scope, body = lease.scope, write.target["body"]
        listed_at = f"{to_millis(workflow.updated_at):015d}#{workflow.id}"
        record = {
            **keys.completion(scope, lease.thread_id, workflow.id),
            "user_id": scope.user_id,
            "body": body,
            "listing": keys.user_completions(scope),
        }
        entry = {
            **keys.completion_entry(scope, lease.thread_id, workflow.id),
            "listing": keys.completion_listings.of(scope, workflow.id),
        }
        common, values = {"fence": lease.fence, "listed_at": listed_at}, {":fence": lease.fence}
        records = [Write.put({**item, **common}, condition=FENCE_HOLDS, values=values) for item in (record, entry)]
        try:
            await self._table.transact(write, *records)
        except TransactionFailed:
            raise _make_loss_error(lease, await self._table.get(get_key(dict(write.target)))) from None

    async def list_completed(
        self, scope: Scope, query: CompletedQuery, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[CompletedWorkflow], str | None]:
        if query.user_id != scope.user_id:
            scope.require(Permission.THREAD_READ_ALL)
        before = decode_text(cursor) if cursor else None
        if query.until is not None:
            before = min(filter(None, (before, f"{to_millis(query.until):015d}~")))
        oldest = f"{to_millis(query.since):015d}" if query.since is not None else ""
        listings = keys.completion_listings(scope)
        if query.user_id is not None:
            listings = [keys.user_completions(replace(scope, user_id=query.user_id))]
        completed: list[tuple[str, CompletedWorkflow]] = []
        pages = 0
        async with aclosing(read_newest_first(self._table, listings, before=before, limit=PAGE)) as entries:
            async for page in read_batches(entries, PAGE, oldest):
                pages += 1
                items = await self._table.get_many([_make_record_key(scope, entry) for entry in page])
                records = sorted(((item["listed_at"], _to_completed(scope, item)) for item in items), reverse=True)
                completed += [record for record in records if query.matches(record[1])]
                if len(completed) > limit:
                    break
                if pages == MAX_PAGES:
                    return [record for _, record in completed], encode_text(page[-1]["listed_at"])
        listed, more = make_page(completed, limit, lambda record: encode_text(record[0]))
        return [record for _, record in listed], more

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        return await self._table.read(keys.user_flow(scope, workflow_id), _to_workflow)

    async def list_unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        now = self._clock.now()
        items = await self._table.read_all(keys.user_listing(scope), prefix=keys.FLOW)
        workflows = [UnfinishedWorkflow(_to_workflow(item), "offered" in item) for item in items]
        workflows = [workflow for workflow in workflows if workflow.workflow.is_unfinished(now)]
        return sorted(
            workflows, key=lambda workflow: (workflow.workflow.updated_at, workflow.workflow.id), reverse=True
        )

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        await self._table.change(
            keys.user_flow(scope, workflow_id), "SET offered = :true", {":true": True}, condition="attribute_exists(PK)"
        )


def _to_workflow(item: Item) -> Workflow:
    workflow_id: str = item["SK"].removeprefix(keys.FLOW)
    return WORKFLOW.unpack(item["body"], id=workflow_id, thread_id=item["thread_id"])


def _make_loss_error(lease: Lease, item: Item | None) -> Exception:
    """Return the error of a refused write: the thread has another worker, or the workflow is in another thread."""
    holder = (item or {}).get("thread_id", lease.thread_id)
    return LeaseLost() if holder == lease.thread_id else WorkflowElsewhere(holder)


def _make_record_key(scope: Scope, entry: Item) -> Key:
    """Return the key of the completed workflow that an entry lists."""
    _, _, workflow_id = entry["SK"].partition("#")
    return keys.completion(scope, keys.thread_id_of(scope, entry), workflow_id)


def _to_completed(scope: Scope, item: Item) -> CompletedWorkflow:
    thread_id, (_, _, workflow_id) = keys.thread_id_of(scope, item), item["SK"].partition("#")
    return CompletedWorkflow(WORKFLOW.unpack(item["body"], id=workflow_id, thread_id=thread_id), item["user_id"])


AUDIT_ACTION = "handoff"
"""The action of a handoff's audit record."""


class DynamoHandoffs(BodyStore):
    """``HandoffStore`` on the conversation table, with large bodies in S3.

    A handoff is stored in its audit record, because a separate item would cost every handoff a third write unit.
    """

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        scope, thread_id = lease.scope, lease.thread_id
        sortable_id = _make_sortable_id(thread_id, request.place)
        outcome = "refused" if request.outcome is HandoffOutcome.REFUSED else "started"
        item: Item = {
            **keys.audit(scope, thread_id, sortable_id),
            "user_id": request.user_id,
            "action": AUDIT_ACTION,
            "outcome": outcome,
            "detail": json.dumps(request.audit_detail),
            "listing": keys.audit_listings.of(scope, sortable_id),
            "listed_at": sortable_id,
            "ordinal": request.ordinal,
            "number": request.number,
            **await self._bodies.store(scope, thread_id, HANDOFF.pack(request)),
        }
        await put_fenced(self._table, lease, item)

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        item = await self._table.get(keys.audit(scope, thread_id, _make_sortable_id(thread_id, place)))
        return await self._read_request(scope, thread_id, item) if item else None

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        before = keys.AUDIT + decode_text(cursor) if cursor else f"{keys.AUDIT}~"
        items: list[Item] = []
        async for page in self._table.query(
            keys.partition(scope, thread_id), first=keys.AUDIT, last=before, newest_first=True
        ):
            items += [
                item for item in page if item["SK"] != before and item["action"] == AUDIT_ACTION and "ordinal" in item
            ]
            if len(items) > limit:
                break
        page_items, more = make_page(items, limit, lambda item: encode_text(item["SK"].removeprefix(keys.AUDIT)))
        return await gather_all(*(self._read_request(scope, thread_id, item) for item in page_items)), more

    async def _read_request(self, scope: Scope, thread_id: str, item: Item) -> HandoffRequest:
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


def _make_sortable_id(thread_id: str, place: HandoffPlace) -> str:
    # The number orders the handoffs of one run, which have the same time.
    return f"{place.started:015d}#{place.number:02d}-{derive_handoff_id(thread_id, place.ordinal, place.number)}"
