"""Ingestion of documents: it starts the state machine ``ingest_document`` for uploads, and carries out its steps.

Every minute it also reads the sources of documents that are due. An operator invokes it with a ``command`` for the
project's libraries.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.startup import event_loop

MARGIN_SECONDS = 240
"""Reserved at the end of the function's time limit, to finish the pages and slices in progress."""

logger = Logger(use_rfc3339=True)
knowledge = composition.deployed().knowledge  # built once per execution environment
ingestion = knowledge.ingestion_events
sources = knowledge.source_refreshes
libraries = knowledge.library_commands


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle an "Object Created" event of S3, a schedule or a ``command``, or carry out a ``step`` of the machine."""
    if event.get("source") == "aws.scheduler":
        seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
        return asdict(event_loop.run(sources.refresh_due(seconds=seconds)))
    if event.get("source") == "aws.s3":
        return event_loop.run(ingestion.start_stored(event))
    if "command" in event:
        return event_loop.run(libraries.run(event))
    document = event["document"]
    logger.append_keys(
        tenant_id=document["tenantId"],
        document_id=document["documentId"],
        version=document["version"],
        step=event["step"],
    )
    return event_loop.run(ingestion.run_step(event))
