"""The sweeper: every minute it ends idle sessions, begins runs that are due, queues takeovers of dead runs, starts
retention that is due, and resumes the ingestion of documents. In between, a queue delivers runs that are due."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import asdict
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.queue_records import QueueRecord, each_record
from baton.composition.startup import event_loop
from baton.domain.metrics import Metric
from baton.entry.jobs.isolation import Job, run_jobs

MARGIN_SECONDS = 60
"""Reserved at the end of the function's time limit, to finish the last closings."""
DOCUMENT_SECONDS = 15
"""The part of the margin that documents may take."""
JOB_SECONDS = 15
"""The part of the margin that starting pipelines may take."""

logger = Logger(use_rfc3339=True)
app = composition.deployed()  # built once per execution environment
sweeper = app.sweeper
due_starts = app.self_started.due_starts
retention = app.privacy.retention_runs
ingestions = app.knowledge.ingestion_starts
admission = app.ports.admission


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Do all jobs once and return their counts, or begin the runs of entries from the queue.

    Raises an ``ExceptionGroup`` if a job has failed, once the others have run.
    """
    if "Records" in event:
        return start_due(event, context)
    seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    jobs = [
        # First: a reminder must not wait for idle sessions.
        Job("due", partial(due_starts.sweep, seconds=seconds / 2), Metric.SWEEPS_FAILED),
        Job("sweep", partial(sweeper.sweep, seconds=seconds), Metric.SWEEPS_FAILED),
        Job("documents", partial(ingestions.resume, seconds=DOCUMENT_SECONDS), Metric.DOCUMENT_RESUMES_FAILED),
        Job("runs", admission.admit_all, Metric.ADMISSIONS_FAILED, JOB_SECONDS),
        # Last and unlimited: it claims tenants for a day, so it must not be cut off between two of them.
        Job("retentions", retention.start_due, Metric.RETENTIONS_FAILED),
    ]
    done = event_loop.run(run_jobs(jobs))
    return {**asdict(done.pop("sweep")), **done}


@each_record(Metric.SWEEP_FAILURES)
def start_due(record: QueueRecord, context: LambdaContext) -> Coroutine[Any, Any, None]:
    """Begin the run of an entry, if it is still due."""
    return due_starts.start_queued(record.body)
