"""The queue of changes and notifications of A2A tasks on SQS FIFO."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton.adapters.aws import call
from baton.domain.errors import StoreUnavailable
from baton.domain.push_config import PushNotice, TaskChange

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class SqsPushQueue:
    """``PushQueue`` on one FIFO queue."""

    client: SQSClient
    queue_url: str

    async def send(self, record: TaskChange | PushNotice) -> None:
        try:
            await call(
                self.client.send_message,
                QueueUrl=self.queue_url,
                MessageBody=record.model_dump_json(by_alias=True, exclude_none=True),
                # Digests, because the ids of tasks may be longer than a group's, and hold characters that it may not.
                MessageGroupId=_digest(record.group),
                MessageDeduplicationId=_digest(f"{record.record}\0{record.group}\0{record.name}"),
            )
        except ClientError as error:
            raise StoreUnavailable from error

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        try:
            await call(
                self.client.change_message_visibility,
                QueueUrl=self.queue_url,
                ReceiptHandle=receipt_handle,
                VisibilityTimeout=seconds,
            )
        except ClientError:
            return  # the receipt is no longer valid: another worker has the record


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
