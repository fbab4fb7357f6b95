"""The queue of pipelines on DynamoDB: one item with the runs in progress, and two items for each run that waits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import save_revised
from baton.adapters.dynamodb.table_stores import TableStore
from baton.domain.documents.pipelines import Pipeline, PipelineRun, RunsInProgress, RunSlot, WaitingRun
from baton.domain.times import from_millis, to_millis

_LAST = "\uffff"
"""A character that sorts after all characters of a tenant's sort keys."""


class DynamoPipelineQueue(TableStore):
    """``PipelineQueue`` on the conversation table."""

    async def read_running(self, pipeline: Pipeline) -> RunsInProgress:
        item = await self._table.get(keys.running_runs(pipeline.value))
        if item is None:
            return RunsInProgress({})
        places = {
            subject: RunSlot(tenant_id, name, from_millis(since))
            for subject, (tenant_id, name, since) in json.loads(item["places"]).items()
        }
        return RunsInProgress(places, int(item["revision"]), item["last_tenant"])

    async def save_running(self, pipeline: Pipeline, runs: RunsInProgress) -> bool:
        places = {subject: (slot.tenant_id, slot.name, to_millis(slot.since)) for subject, slot in runs.slots.items()}
        item: Item = {
            **keys.running_runs(pipeline.value),
            "places": json.dumps(places),
            "revision": runs.revision,
            "last_tenant": runs.last_tenant_id,
        }
        return await save_revised(self._table, item)

    async def add(self, run: PipelineRun, since: datetime) -> bool:
        key = keys.waiting_run(run.pipeline.value, run.tenant_id, to_millis(since), run.subject)
        item: Item = {
            **key,
            "tenant_id": run.tenant_id,
            "subject": run.subject,
            "name": run.name,
            "described": json.dumps(dict(run.described)),
            "since": to_millis(since),
        }
        note = {**keys.waiting_subject(run.pipeline.value, run.subject), "at": key["SK"], "tenant_id": run.tenant_id}
        return await self._table.add(note, item)

    async def remove(self, waiting: WaitingRun) -> None:
        run = waiting.run
        # The note first: a run without its note may be added again, but a note without its run would stay for ever.
        await self._table.delete(keys.waiting_subject(run.pipeline.value, run.subject))
        since = to_millis(waiting.since)
        await self._table.delete(keys.waiting_run(run.pipeline.value, run.tenant_id, since, run.subject))

    async def is_waiting(self, pipeline: Pipeline, subject: str) -> bool:
        return await self._table.get(keys.waiting_subject(pipeline.value, subject)) is not None

    async def list_oldest(self, pipeline: Pipeline, *, after: str, limit: int) -> Sequence[WaitingRun]:
        """See ``PipelineQueue``. Each tenant takes one request."""
        oldest: dict[str, WaitingRun] = {}
        last, is_second_round = after, not after
        while len(oldest) < limit:
            waiting = await self._find_first_after(pipeline, last)
            if waiting is None and not is_second_round:
                last, is_second_round = "", True
                continue
            if waiting is None or waiting.run.tenant_id in oldest:
                break
            last = waiting.run.tenant_id
            oldest[last] = waiting
            if last == after:  # the round is complete
                break
        return list(oldest.values())

    async def _find_first_after(self, pipeline: Pipeline, tenant_id: str) -> WaitingRun | None:
        """Return the oldest waiting run of the tenant after ``tenant_id``; None after the last tenant."""
        first = keys.waiting_runs(tenant_id) + _LAST if tenant_id else keys.WAITING
        last = keys.WAITING + _LAST
        items = await self._table.read_all(keys.pipeline(pipeline.value), first=first, last=last, limit=1, enough=1)
        if not items:
            return None
        item = items[0]
        described = json.loads(item["described"])
        run = PipelineRun(pipeline, item["tenant_id"], item["subject"], item["name"], described)
        return WaitingRun(run, from_millis(item["since"]))
