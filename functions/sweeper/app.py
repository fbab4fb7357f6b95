"""The sweeper: every minute it ends idle sessions, queues takeovers of dead runs, starts what retention is due, and
resumes the ingestion of documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition import event_loop
from baton.composition.metrics import counted

MARGIN_SECONDS = 60
"""Reserved at the end of the function's time limit, to finish the last closings."""
DOCUMENT_SECONDS = 15
"""Of the margin, the most that documents may take."""

logger = Logger()
sweeper = composition.sweeper()  # built once per execution environment
retention = composition.retention_runs()
ingestions = composition.ingestion_starts()
admission = composition.admission()


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Sweep once and return the counts. The event is ignored, because the table has the due threads."""
    seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    report = asdict(event_loop.run(sweeper.sweep(seconds=seconds)))
    documents = event_loop.run(ingestions.resume(seconds=DOCUMENT_SECONDS))
    begun = event_loop.run(admission.admit_all())
    return {**report, "retentions": event_loop.run(retention.start_due()), "documents": documents, "runs": begun}
