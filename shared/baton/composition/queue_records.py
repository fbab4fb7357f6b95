"""Lambda handlers of queues, which deliver records in batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton.composition import event_loop
from baton.domain.metrics import Metric, count_failures

Work = Callable[[SQSRecord, LambdaContext], Coroutine[Any, Any, None]]
Handler = Callable[[dict[str, Any], LambdaContext], PartialItemFailureResponse]


def each_record(failures: Metric | None = None, *, but: tuple[type[Exception], ...] = ()) -> Callable[[Work], Handler]:
    """Return a decorator that makes a Lambda handler of work on one record. Only a record that fails is redelivered.

    Lambda counts a redelivered record as a success, so ``failures`` counts the exceptions of the work except ``but``.
    """

    def decorate(work: Work) -> Handler:
        @functools.wraps(work)
        def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
            def run(record: SQSRecord) -> None:
                with count_failures(failures, but=but) if failures else nullcontext():
                    event_loop.run(work(record, context))

            # One processor a batch: it stores its batch, and in the local cloud several batches run at once.
            processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
            return process_partial_response(event, run, processor, context)

        return handler

    return decorate
