"""The queue of pipelines: the runs that are in progress, and those that wait. It spans all tenants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.documents.pipelines import Pipeline, PipelineRun, RunsInProgress, WaitingRun


class PipelineQueue(Protocol):
    """The pipeline runs of the deployment, in progress and waiting. Methods raise ``StoreUnavailable``."""

    async def running(self, pipeline: Pipeline) -> RunsInProgress:
        """Return the runs in progress, as the last write left them."""

    async def save_running(self, pipeline: Pipeline, runs: RunsInProgress) -> bool:
        """Store the next revision; return False, without a change, if another one was stored since it was read."""

    async def add(self, run: PipelineRun, since: datetime) -> bool:
        """Let a run wait; return False, without a change, if a run with its subject waits already."""

    async def remove(self, waiting: WaitingRun) -> None:
        """Remove a run that waits. A missing one is not an error."""

    async def is_waiting(self, pipeline: Pipeline, subject: str) -> bool:
        """Return whether a run with this subject waits."""

    async def oldest(self, pipeline: Pipeline, *, after: str, limit: int) -> Sequence[WaitingRun]:
        """Return the run that has waited longest of each of up to ``limit`` tenants.

        Tenants are in the order of their ids, beginning after ``after``; after the last tenant comes the first.
        """


class Executions(Protocol):
    """Executions of the pipelines (Step Functions)."""

    async def start(self, run: PipelineRun) -> bool:
        """Start a run; return False if its name was used before. Raises ``StoreUnavailable``."""
