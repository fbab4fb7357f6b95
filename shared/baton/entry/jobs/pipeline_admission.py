"""The admission of pipeline runs, which limits the runs in progress of the deployment and of each tenant.

A run waits in the queue while there is no room, and begins when another run ends. So runs in progress do not compete
with all waiting runs, and none is given up because too many began at once.

A worker may die between two writes. Therefore a sweep admits waiting runs if there is room, and a run that does not end
loses its place after ``LONGEST_RUN``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from baton.concurrency.tasks import gather_all
from baton.domain.documents.pipelines import (
    LONGEST_RUN,
    Pipeline,
    PipelineLimits,
    PipelineRun,
    RunsInProgress,
    WaitingRun,
)
from baton.domain.errors import StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.documents.pipelines import Executions, PipelineQueue

TENANTS = 25
"""The number of tenants among which the next run is chosen."""
MAX_TRIES = 24
"""Attempts to write the runs in progress while other workers write them too."""
PAUSE_SECONDS = 0.02
"""The longest pause after the first attempt. It grows with each attempt, and is shortened at random."""


@dataclass(frozen=True, slots=True)
class PipelineAdmission:
    """The admission of pipeline runs, which begin while there is room and wait otherwise."""

    queue: PipelineQueue
    executions: Executions
    clock: Clock
    limits: PipelineLimits
    since: datetime | None = None
    """The start of the pipelines' engine, if the runs of an earlier engine have ended with it; otherwise None."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def start(self, run: PipelineRun, *, behind: timedelta = timedelta()) -> None:
        """Begin a run, or let it wait. Repeated calls change nothing. Raises ``StoreUnavailable``.

        If the run waits, other runs of its tenant that are started less than ``behind`` later begin before it.
        """
        if await self._begin(run):
            return
        await self.queue.add(run, self.clock.now() + behind)
        # All other runs may have ended before this run was added to the queue.
        if (await self._read_running(run.pipeline)).have_room(run.tenant_id, self.limits):
            await self.admit(run.pipeline)

    async def start_at_once(self, run: PipelineRun) -> None:
        """Begin a run that only removes data, regardless of other runs. Raises ``StoreUnavailable``."""
        await self.executions.start(run)

    async def is_pending(self, pipeline: Pipeline, subject: str) -> bool:
        """Return whether a run waits or is in progress. Raises ``StoreUnavailable``."""
        return subject in (await self._read_running(pipeline)).slots or await self.queue.is_waiting(pipeline, subject)

    async def is_busy(self, pipeline: Pipeline) -> bool:
        """Return whether any run of the pipeline is in progress. Raises ``StoreUnavailable``."""
        return bool((await self._read_running(pipeline)).slots)

    async def note_end(self, pipeline: Pipeline, subject: str) -> None:
        """Give the place of an ended run to a waiting run. Failures are reported, and a sweep makes up for them."""
        try:
            if not await self._pass_on(pipeline, subject):
                await self.admit(pipeline)
        except Exception as failure:  # noqa: BLE001 - the run's own result must not depend on the next run
            report_failure(failure, "next run not admitted", pipeline=pipeline.value)
            count(Metric.RUNS_NOT_ADMITTED)

    async def admit(self, pipeline: Pipeline) -> int:
        """Begin waiting runs while there is room, and return their number. Raises ``StoreUnavailable``."""
        runs_begun = 0
        while (waiting := await self._choose(pipeline, await self._read_running(pipeline))) is not None:
            if not await self._begin(waiting.run):
                break
            await self.queue.remove(waiting)
            runs_begun += 1
        return runs_begun

    async def admit_all(self) -> int:
        """Begin waiting runs of all pipelines while there is room, and return their number.

        The failure of one pipeline does not stop the others. Raises ``StoreUnavailable``.
        """
        return sum(await gather_all(*(self.admit(pipeline) for pipeline in Pipeline)))

    async def _pass_on(self, pipeline: Pipeline, subject: str) -> bool:
        """Give the place of an ended run to a waiting run in one write, and return whether that run has begun.

        If it returns False, there may be room for another run: a run that begins to wait during the write is not seen
        here. The caller must look for waiting runs again.
        """
        for attempt in range(MAX_TRIES):
            running = await self._read_running(pipeline)
            if subject not in running.slots:
                return False
            runs = running.without(subject)
            # While there is room, no run waits, or another worker is about to begin it.
            waiting = await self._choose(pipeline, runs) if running.are_full(self.limits) else None
            if waiting is not None and waiting.run.subject in runs.slots:
                waiting = None
            changed = running.end(subject)
            if waiting is not None:
                changed = running.hand_over(subject, waiting.run, self.clock.now())
            if await self.queue.save_running(pipeline, changed):
                if waiting is None:
                    return False
                is_new = await self._execute(waiting.run)  # frees the place if the run has ended before
                await self.queue.remove(waiting)
                return is_new
            await self._pause(attempt)
        raise StoreUnavailable

    async def _choose(self, pipeline: Pipeline, running: RunsInProgress) -> WaitingRun | None:
        """Return the waiting run to begin next; None if no run waits or there is no room.

        It is a run of the tenant with the fewest runs in progress, and of these the run that has waited longest.
        """
        if len(running.slots) >= self.limits.at_once:
            return None
        runs = await self.queue.list_oldest(pipeline, after=running.last_tenant_id, limit=TENANTS)
        candidates = [
            waiting
            for waiting in runs
            if waiting.run.subject in running.slots or running.have_room(waiting.run.tenant_id, self.limits)
        ]
        return min(
            candidates,
            key=lambda waiting: (running.count_of_tenant(waiting.run.tenant_id), waiting.since),
            default=None,
        )

    async def _begin(self, run: PipelineRun) -> bool:
        """Begin a run if there is room, and return whether it has begun. Return True for a run in progress too."""

        def begin(running: RunsInProgress) -> RunsInProgress | None:
            if run.subject in running.slots or not running.have_room(run.tenant_id, self.limits):
                return None
            return running.begin(run, self.clock.now())

        before = await self._change(run.pipeline, begin)
        slot = before.slots.get(run.subject)
        if slot is not None:
            # The run has its place, but its worker may have died before the execution began.
            await self.executions.start(replace(run, name=slot.name))
            return True
        if not before.have_room(run.tenant_id, self.limits):
            return False
        await self._execute(run)
        return True

    async def _execute(self, run: PipelineRun) -> bool:
        """Start the execution of a run that has a place. If the run has ended before, free the place.

        Return whether the execution is new.
        """
        try:
            is_new = await self.executions.start(run)
        except BaseException:
            await self._free_place(run.pipeline, run.subject)
            raise
        if not is_new:
            await self._free_place(run.pipeline, run.subject)
        return is_new

    async def _free_place(self, pipeline: Pipeline, subject: str) -> None:
        await self._change(pipeline, lambda running: running.end(subject) if subject in running.slots else None)

    async def _change(
        self, pipeline: Pipeline, change: Callable[[RunsInProgress], RunsInProgress | None]
    ) -> RunsInProgress:
        """Store the result of ``change`` for the runs in progress, unless it is None. Return the runs before it.

        Raises ``StoreUnavailable`` if other workers' writes make all attempts fail.
        """
        for attempt in range(MAX_TRIES):
            running = await self._read_running(pipeline)
            changed = change(running)
            if changed is None or await self.queue.save_running(pipeline, changed):
                return running
            await self._pause(attempt)
        raise StoreUnavailable

    async def _pause(self, attempt: int) -> None:
        await self.sleep(PAUSE_SECONDS * (attempt + 1) * random.random())  # noqa: S311 - jitter

    async def _read_running(self, pipeline: Pipeline) -> RunsInProgress:
        oldest = self.clock.now() - LONGEST_RUN
        return (await self.queue.read_running(pipeline)).select_begun_since(
            max(oldest, self.since) if self.since else oldest
        )
