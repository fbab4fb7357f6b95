"""Lambda handlers of queues, which deliver records in batches.

Powertools has such handlers too, but its module loads the shapes of all event sources. This takes 35 ms, 4 % of a
worker's start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from baton.composition.startup import event_loop
from baton.domain.metrics import Metric, count_failures
from baton.domain.times import from_millis
from baton.failures.reports import report_failure


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """A record of an SQS queue as Lambda delivers it."""

    id: str
    receipt_handle: str
    body: str
    receives: int
    """The number of deliveries of the record, including this delivery."""
    sent_at: datetime

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> QueueRecord:
        """Return the record of an event (https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html)."""
        attributes = record["attributes"]
        return cls(
            record["messageId"],
            record["receiptHandle"],
            record["body"],
            int(attributes["ApproximateReceiveCount"]),
            from_millis(int(attributes["SentTimestamp"])),
        )


Work = Callable[[QueueRecord, LambdaContext], Coroutine[Any, Any, None]]
Handler = Callable[[dict[str, Any], LambdaContext], dict[str, list[dict[str, str]]]]


def each_record(failures: Metric | None = None, *, but: tuple[type[Exception], ...] = ()) -> Callable[[Work], Handler]:
    """Return a decorator that makes a Lambda handler from a coroutine function for one record.

    Only records whose coroutine raises are delivered again. Lambda does not count them as errors, so failures are
    reported here. The metric ``failures`` counts the exceptions, except those of the classes ``but``.
    """

    def decorate(work: Work) -> Handler:
        @functools.wraps(work)
        def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
            failed: list[dict[str, str]] = []
            for record in event["Records"]:
                try:
                    with count_failures(failures, but=but) if failures else nullcontext():
                        event_loop.run(work(QueueRecord.of(record), context))
                except Exception as failure:  # noqa: BLE001 - the queue delivers only this record again
                    receives = record.get("attributes", {}).get("ApproximateReceiveCount")
                    report_failure(failure, "record failed", record_id=record["messageId"], receives=receives)
                    failed.append({"itemIdentifier": record["messageId"]})
            return {"batchItemFailures": failed}

        return handler

    return decorate
