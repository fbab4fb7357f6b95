"""Several jobs in one invocation, where a job's failure does not prevent the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.metrics import Metric, count
from baton.failures.reports import ExpectedFailure, report_failure


class JobsFailed(ExceptionGroup[Exception], ExpectedFailure):
    """Failures of jobs, each of which has been reported."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of an invocation."""

    name: str
    work: Callable[[], Awaitable[Any]]
    failures: Metric
    """The metric that counts failures of the job."""
    seconds: float | None = None
    """The longest time that the job may take; None if the job limits its time itself."""


async def run_jobs(jobs: Sequence[Job]) -> dict[str, Any]:
    """Run the jobs one after another and return their results by name.

    A failure is reported and counted, and the next job begins. After failures, ``JobsFailed`` is raised once all jobs
    have run, so that the invocation fails too.
    """
    results: dict[str, Any] = {}
    failures: list[Exception] = []
    for job in jobs:
        try:
            async with asyncio.timeout(job.seconds) as limit:
                results[job.name] = await job.work()
        except Exception as failure:  # noqa: BLE001 - the next job begins
            timeout = ExpectedFailure(f"it did not end within {job.seconds:g} s") if limit.expired() else None
            report_failure(timeout or failure, "job failed", job=job.name)
            count(job.failures)
            failures.append(failure)
    if failures:
        raise JobsFailed("Some jobs have failed; the log names each.", failures)
    return results
