"""The contract of every queue of pipelines."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from baton.domain.documents.pipelines import Pipeline, PipelineRun, RunsInProgress
from baton.ports.documents.pipelines import PipelineQueue

NOW = datetime(2026, 3, 14, 10, 0, tzinfo=UTC)


def run_of(tenant_id: str, subject: str = "", pipeline: Pipeline = Pipeline.CLOSING) -> PipelineRun:
    """A run of a tenant."""
    subject = subject or uuid.uuid4().hex
    return PipelineRun(pipeline, tenant_id, subject, f"{subject}-1", {"tenantId": tenant_id, "attempt": 1})


class PipelineQueueContract:
    """Runs in progress change by one writer at a time, and runs that wait are found by tenant and age."""

    async def test_runs_in_progress_are_read_as_they_were_stored(self, queue: PipelineQueue) -> None:
        assert await queue.read_running(Pipeline.CLOSING) == RunsInProgress({})
        first = RunsInProgress({}).begin(run_of("acme"), NOW)
        assert await queue.save_running(Pipeline.CLOSING, first)
        assert await queue.read_running(Pipeline.CLOSING) == first
        assert await queue.read_running(Pipeline.CAPTURE) == RunsInProgress({})

    async def test_one_of_two_writers_of_a_revision_succeeds(self, queue: PipelineQueue) -> None:
        first = RunsInProgress({}).begin(run_of("acme"), NOW)
        assert await queue.save_running(Pipeline.CLOSING, first)
        second, other = first.begin(run_of("acme"), NOW), first.begin(run_of("globex"), NOW)
        assert await queue.save_running(Pipeline.CLOSING, second)
        assert not await queue.save_running(Pipeline.CLOSING, other)
        assert await queue.save_running(Pipeline.CLOSING, second)  # its response was lost
        assert await queue.read_running(Pipeline.CLOSING) == second

    async def test_a_run_waits_once_for_each_subject(self, queue: PipelineQueue) -> None:
        run = run_of("acme", "session/1")
        assert not await queue.is_waiting(Pipeline.CLOSING, run.subject)
        assert await queue.add(run, NOW)
        assert not await queue.add(replace(run, name="session/1-2"), NOW + timedelta(minutes=5))
        assert await queue.is_waiting(Pipeline.CLOSING, run.subject)
        assert not await queue.is_waiting(Pipeline.CAPTURE, run.subject)
        (waiting,) = await queue.list_oldest(Pipeline.CLOSING, after="", limit=10)
        assert (waiting.run, waiting.since) == (run, NOW)
        for _ in range(2):
            await queue.remove(waiting)
            assert not await queue.is_waiting(Pipeline.CLOSING, run.subject)
            assert await queue.list_oldest(Pipeline.CLOSING, after="", limit=10) == []
        assert await queue.add(run, NOW)

    @pytest.mark.parametrize("tenants", [("a", "a-b", "a.b", "b"), ("t1", "t10", "t2")])
    async def test_the_oldest_run_of_each_tenant_is_found(self, queue: PipelineQueue, tenants: tuple[str, ...]) -> None:
        oldest = {}
        for number, tenant_id in enumerate(tenants):
            for minutes in (3, 1, 2):
                run = run_of(tenant_id)
                assert await queue.add(run, NOW + timedelta(minutes=minutes, seconds=number))
                if minutes == 1:
                    oldest[tenant_id] = run
        assert await queue.add(run_of("other", pipeline=Pipeline.CAPTURE), NOW)

        async def list_waiting(after: str, limit: int = 10) -> list[PipelineRun]:
            return [item.run for item in await queue.list_oldest(Pipeline.CLOSING, after=after, limit=limit)]

        in_order = await list_waiting("")
        assert sorted(run.tenant_id for run in in_order) == sorted(tenants)
        assert {run.tenant_id: run for run in in_order} == oldest
        for index, run in enumerate(in_order):
            assert await list_waiting(run.tenant_id) == in_order[index + 1 :] + in_order[: index + 1]
        assert await list_waiting("", limit=2) == in_order[:2]
        assert await list_waiting(in_order[-1].tenant_id, limit=1) == in_order[:1]
