"""The queue and the executions of pipelines, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from baton.domain.documents.pipelines import Pipeline, PipelineRun, RunsInProgress, WaitingRun
from baton.domain.errors import StoreUnavailable
from baton.domain.times import from_millis, to_millis


class FakePipelineQueue:
    """``ports.documents.pipelines.PipelineQueue``."""

    def __init__(self) -> None:
        self._running: dict[Pipeline, RunsInProgress] = {}
        self._waiting: dict[tuple[Pipeline, str], WaitingRun] = {}
        """By subject."""

    async def read_running(self, pipeline: Pipeline) -> RunsInProgress:
        return self._running.get(pipeline, RunsInProgress({}))

    async def save_running(self, pipeline: Pipeline, runs: RunsInProgress) -> bool:
        stored = await self.read_running(pipeline)
        if stored.revision != runs.revision - 1:
            return stored == runs
        self._running[pipeline] = runs
        return True

    async def add(self, run: PipelineRun, since: datetime) -> bool:
        if (run.pipeline, run.subject) in self._waiting:
            return False
        self._waiting[run.pipeline, run.subject] = WaitingRun(run, from_millis(to_millis(since)))
        return True

    async def remove(self, waiting: WaitingRun) -> None:
        self._waiting.pop((waiting.run.pipeline, waiting.run.subject), None)

    async def is_waiting(self, pipeline: Pipeline, subject: str) -> bool:
        return (pipeline, subject) in self._waiting

    async def list_oldest(self, pipeline: Pipeline, *, after: str, limit: int) -> Sequence[WaitingRun]:
        first: dict[str, WaitingRun] = {}
        for (kind, _), waiting in sorted(self._waiting.items(), key=lambda item: (item[1].since, item[0][1])):
            if kind is pipeline:
                first.setdefault(waiting.run.tenant_id, waiting)
        tenants = sorted(first, key=lambda tenant_id: (f"{tenant_id}#" <= f"{after}#", f"{tenant_id}#"))
        return [first[tenant_id] for tenant_id in tenants[:limit]]


@dataclass
class FakeExecutions:
    """``ports.documents.pipelines.Executions``: the runs that were started, each name once."""

    started: list[PipelineRun] = field(default_factory=list)
    is_down: bool = False

    async def start(self, run: PipelineRun) -> bool:
        if self.is_down:
            raise StoreUnavailable
        if any(entry.name == run.name and entry.pipeline is run.pipeline for entry in self.started):
            return False
        self.started.append(run)
        return True
