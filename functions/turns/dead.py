"""The consumer of the dead-letter queue: it ends turns that failed too often, so that their threads can continue."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.queue_records import QueueRecord, each_record
from baton.domain.metrics import Metric

logger = Logger(use_rfc3339=True)
dead_turns = composition.deployed().dead_turns  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@observed
@each_record(Metric.DEAD_TURNS_FAILED)
def handler(record: QueueRecord, context: LambdaContext) -> Coroutine[Any, Any, None]:
    """End a turn that failed too often."""
    return dead_turns.give_up(record.body, sent_at=record.sent_at)
