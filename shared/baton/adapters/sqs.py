"""The queue of turns on SQS FIFO: one group a thread, so that its messages come in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

from baton.adapters.aws import call
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.metrics import Metric, count
from baton.domain.queued import Queued

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

logger = Logger(child=True)

HIDDEN_SECONDS = 45
"""A worker that dies lets its record go this long afterwards."""
EXTEND_SECONDS = 10.0
RETRY_SECONDS = 2


@dataclass(frozen=True, slots=True)
class SqsTurnQueue:
    """``TurnQueue`` on one FIFO queue."""

    client: SQSClient
    queue_url: str

    async def send(self, scope: Scope, message: Queued) -> None:
        try:
            await call(
                self.client.send_message,
                QueueUrl=self.queue_url,
                MessageBody=message.model_dump_json(by_alias=True),
                # From the authorizer's context, never from the frame: nobody can queue into another tenant's thread.
                MessageGroupId=f"{scope.tenant_id}#{message.thread_id}",
                # Swallows only retries of the SDK; a client that repeats itself reaches the worker, which answers.
                MessageDeduplicationId=message.request_id,
            )
        except ClientError as error:
            raise StoreUnavailable from error


@dataclass(frozen=True, slots=True)
class SqsRecords:
    """``QueueRecords`` by ChangeMessageVisibility.

    The queue's own timeout is longer than a worker may run: where a change of visibility fails, that still holds.
    """

    client: SQSClient
    queue_url: str

    @asynccontextmanager
    async def hidden(self, receipt_handle: str) -> AsyncIterator[None]:
        async def extend() -> None:
            while True:
                await self._hide(receipt_handle, HIDDEN_SECONDS)
                await asyncio.sleep(EXTEND_SECONDS)

        extending = asyncio.ensure_future(extend())
        failed = True
        try:
            yield
            failed = False
        finally:
            extending.cancel()
            await asyncio.wait([extending])
            if failed:
                await self._hide(receipt_handle, RETRY_SECONDS)

    async def _hide(self, receipt_handle: str, seconds: int) -> None:
        try:
            await call(
                self.client.change_message_visibility,
                QueueUrl=self.queue_url,
                ReceiptHandle=receipt_handle,
                VisibilityTimeout=seconds,
            )
        except (ClientError, StoreUnavailable):
            logger.warning("visibility not changed", exc_info=True)
            count(Metric.RECORDS_NOT_HIDDEN)
