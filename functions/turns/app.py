"""The worker: runs queued turns, one record an invocation."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.queue_records import QueueRecord, each_record
from baton.composition.tracing import flushed
from baton.domain.errors import CountsBusy, ThreadBusy
from baton.domain.metrics import Metric
from baton.domain.threads.queued import RecordDelivery

MARGIN_SECONDS = 30
"""Reserved at the end of the function's time limit, to commit the answer of a turn that takes too long."""

logger = Logger(use_rfc3339=True)
turns = composition.deployed().queued_turns  # built once per execution environment
composition.prepare_turns()


@logger.inject_lambda_context(clear_state=True)
@observed
@flushed(lambda: composition.deployed_ports().tracer)
@each_record(Metric.QUEUED_TURNS_FAILED, but=(CountsBusy, ThreadBusy))
def handler(record: QueueRecord, context: LambdaContext) -> Coroutine[Any, Any, None]:
    """Run a queued turn."""
    composition.prepare_settings()
    seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    delivery = RecordDelivery(record.id, record.receives)
    return turns.run(record.body, record.receipt_handle, delivery, seconds=seconds, sent_at=record.sent_at)
