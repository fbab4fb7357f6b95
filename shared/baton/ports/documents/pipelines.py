"""The port to the queue of pipelines for all tenants: the runs in progress, and the runs that wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.documents.pipelines import Pipeline, PipelineRun, RunsInProgress, WaitingRun


class PipelineQueue(Protocol):
    """The pipeline runs of the deployment, in progress and waiting. Methods raise ``StoreUnavailable``."""

    async def read_running(self, pipeline: Pipeline) -> RunsInProgress:
        """Return the runs in progress, by a consistent read."""

    async def save_running(self, pipeline: Pipeline, runs: RunsInProgress) -> bool:
        """Store the next revision. Return False, without a change, if another revision was stored since the read."""

    async def add(self, run: PipelineRun, since: datetime) -> bool:
        """Add a waiting run. Return False, without a change, if a run with its subject waits already."""

    async def remove(self, waiting: WaitingRun) -> None:
        """Remove a waiting run. A missing run is not an error."""

    async def is_waiting(self, pipeline: Pipeline, subject: str) -> bool:
        """Return whether a run with this subject waits."""

    async def list_oldest(self, pipeline: Pipeline, *, after: str, limit: int) -> Sequence[WaitingRun]:
        """Return, for each of up to ``limit`` tenants, the run that has waited longest.

        Tenants are in the order of their ids, from the first after ``after``. The first tenant follows the last.
        """


class Executions(Protocol):
    """Executions of the pipelines (Step Functions)."""

    async def start(self, run: PipelineRun) -> bool:
        """Start a run. Return False if its name was used before. Raises ``StoreUnavailable``."""
