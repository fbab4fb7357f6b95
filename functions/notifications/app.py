"""The sender of push notifications of A2A tasks: it works off their queue, one record an invocation."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.api.a2a.notifying import Notifications
from baton.composition import event_loop
from baton.composition.metrics import counted

logger = Logger()
notifications = Notifications.of(composition.deployed())  # built once per execution environment
composition.prepare_store()


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Notify clients of changes of their tasks. A record that fails returns to the queue for later."""

    def run(record: SQSRecord) -> None:
        receives = int(record.attributes.approximate_receive_count)
        event_loop.run(notifications.run(record.body, record.receipt_handle, receives))

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, run, processor, context)
