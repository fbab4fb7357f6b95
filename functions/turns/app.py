"""The worker: runs queued turns, one record an invocation."""

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
from baton.domain.errors import ThreadBusy
from baton.domain.metrics import Metric, failures_counted
from baton.domain.queued import RecordDelivery
from baton.domain.times import from_millis

MARGIN_SECONDS = 30
"""Reserved at the end of the function's time limit, to commit the answer of a turn that takes too long."""

logger = Logger()
turns = composition.queued_turns()  # built once per execution environment
composition.prepare_turns()


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Run queued turns. Only a record that fails returns to the queue."""
    seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS

    def run(record: SQSRecord) -> None:
        delivery = RecordDelivery(record.message_id, int(record.attributes.approximate_receive_count))
        # Lambda counts a returned record as a success, so count the failure here.
        with failures_counted(Metric.QUEUED_TURNS_FAILED, but=(ThreadBusy,)):
            sent_at = from_millis(int(record.attributes.sent_timestamp))
            event_loop.run(turns.run(record.body, record.receipt_handle, delivery, seconds=seconds, sent_at=sent_at))

    # One processor a batch: it stores its batch, and in the local cloud several batches run at once.
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, run, processor, context)
