"""The consumer of the dead-letter queue: it ends turns that failed too often, so that their threads can continue."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition import event_loop
from baton.composition.metrics import counted
from baton.domain.metrics import Metric, failures_counted
from baton.domain.times import from_millis

logger = Logger()
dead_turns = composition.dead_turns()  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """End turns that failed too often."""

    def give_up(record: SQSRecord) -> None:
        with failures_counted(Metric.DEAD_TURNS_FAILED):
            sent_at = from_millis(int(record.attributes.sent_timestamp))
            event_loop.run(dead_turns.give_up(record.body, sent_at=sent_at))

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, give_up, processor, context)
