"""Several jobs in one invocation, none of which keeps the others from running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.domain.metrics import Metric, count

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class Job:
    """One of the jobs."""

    name: str
    work: Callable[[], Awaitable[Any]]
    failures: Metric
    """The metric that counts failures of the job."""
    seconds: float | None = None
    """The longest time that it may take; None if it limits itself."""


async def run_jobs(jobs: Sequence[Job]) -> dict[str, Any]:
    """Run the jobs one after another and return their results by name.

    A failure is logged and counted, and the next job begins. Once all have run, an ``ExceptionGroup`` of the failures
    is raised, so that the invocation fails too.
    """
    results: dict[str, Any] = {}
    failures: list[Exception] = []
    for job in jobs:
        try:
            async with asyncio.timeout(job.seconds):
                results[job.name] = await job.work()
        except Exception as failure:
            logger.exception("job failed", job=job.name)
            count(job.failures)
            failures.append(failure)
    if failures:
        raise ExceptionGroup("Some jobs have failed; the log names each.", failures)
    return results
