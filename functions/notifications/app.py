"""The sender of notifications, to clients of A2A tasks and to webhooks: it consumes their queue record by record."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.api.notifications import Notifications
from baton.composition.metrics import observed
from baton.composition.queue_records import QueueRecord, each_record

logger = Logger(use_rfc3339=True)
notifications = Notifications.of(composition.deployed())  # built once per execution environment
composition.prepare_store()


@logger.inject_lambda_context(clear_state=True)
@observed
@each_record()
def handler(record: QueueRecord, context: LambdaContext) -> Coroutine[Any, Any, None]:
    """Send a queued notification to its receivers."""
    composition.prepare_settings()
    return notifications.run(record.body, record.receipt_handle, record.receives)
