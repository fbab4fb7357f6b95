"""Ingestion of documents: it starts the state machine ``ingest_document`` for uploads, and carries out its steps."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition import event_loop
from baton.composition.metrics import counted

logger = Logger()
ingestion = composition.ingestion()  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle an "Object Created" event of S3, or carry out the ``step`` that the state machine names."""
    if event.get("source") == "aws.s3":
        return event_loop.run(ingestion.stored(event))
    document = event["document"]
    logger.append_keys(
        tenant_id=document["tenantId"],
        document_id=document["documentId"],
        version=document["version"],
        step=event["step"],
    )
    return event_loop.run(ingestion.step(event))
