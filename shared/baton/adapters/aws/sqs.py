"""Queues on SQS: turns and notifications (FIFO, a group for each thread), and due entries (standard)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

from baton.adapters.aws.blocking_calls import Operations, error_code
from baton.adapters.aws.last_wills import NO_WILLS, LastWills
from baton.concurrency.tasks import stop_all
from baton.domain.errors import StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.queued import Queued, RecordDelivery
from baton.domain.threads.thread import USUAL_TIMES, LeaseTimes
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import WebhookDelivery

logger = Logger(child=True)

RETRY_SECONDS = 2
"""Seconds after which a record whose worker has failed is delivered again."""


@dataclass(frozen=True, slots=True)
class SqsTurnQueue:
    """``TurnQueue`` on one FIFO queue."""

    operations: Operations
    queue_url: str

    async def send(self, scope: Scope, message: Queued) -> None:
        request = {
            "QueueUrl": self.queue_url,
            "MessageBody": message.model_dump_json(by_alias=True),
            # The tenant comes from the authorizer's context, so no client can queue into another tenant's thread.
            "MessageGroupId": f"{scope.tenant_id}#{message.group}",
            # This drops retries of the SDK only. A message that a client repeats reaches the worker.
            "MessageDeduplicationId": message.request_id,
        }
        await _send(self.operations, request)


class SqsHeldRecord:
    """``HeldRecord`` of one delivery, whose visibility timeout is extended periodically."""

    def __init__(
        self,
        operations: Operations,
        queue_url: str,
        receipt_handle: str,
        delivery: RecordDelivery,
        times: LeaseTimes,
        wills: LastWills,
    ) -> None:
        self._operations = operations
        self._queue_url = queue_url
        self._receipt_handle = receipt_handle
        self.delivery = delivery
        self._times = times
        self._wills = wills
        # A repeated delivery may be a later attempt. Until ``note_attempt`` names the attempt, it is hidden for longer.
        self._seconds = times.choose_hidden_seconds(delivery.receives)
        self._changed = asyncio.Event()
        self._hidden_until = math.inf
        """A time of the event loop. Before the first extension the queue's timeout applies, which outlasts workers."""

    @property
    def is_lost(self) -> bool:
        return self._hidden_until == -math.inf

    def count_seconds_left(self) -> float:
        return self._hidden_until - asyncio.get_running_loop().time()

    def note_attempt(self, attempt: int) -> None:
        seconds = self._times.choose_hidden_seconds(attempt)
        if seconds != self._seconds:
            self._seconds = seconds
            self._changed.set()

    async def keep_hidden(self) -> None:
        """Extend the visibility timeout until the record is lost or the call is cancelled."""
        loop = asyncio.get_running_loop()
        while not self.is_lost:
            began_at = loop.time()
            is_extended = await self._extend()
            with contextlib.suppress(TimeoutError):
                pause = self._times.extend if is_extended else self._times.extend_again
                async with asyncio.timeout_at(began_at + pause):
                    await self._changed.wait()
            self._changed.clear()

    async def _extend(self) -> bool:
        """Extend the visibility timeout once. Return whether it was extended."""
        until = asyncio.get_running_loop().time() + self._seconds
        # Even if the response is lost, the record may be hidden until then.
        self._hidden_until = min(self._hidden_until, until)
        try:
            async with asyncio.timeout(self._times.extend):
                await self.hide(self._seconds)
        except ClientError as error:
            # The receipt is no longer valid: another worker has the record.
            logger.warning("record lost", cause=error_code(error))
            count(Metric.RECORDS_NOT_HIDDEN)
            self._hidden_until = -math.inf
            return False
        except (StoreUnavailable, TimeoutError) as error:
            _log_failure(error)
            return False
        except Exception:
            # The next attempt may succeed. Without it, another worker would get the record of a run that continues.
            logger.exception("visibility not changed")
            count(Metric.RECORDS_NOT_HIDDEN)
            return False
        if self.count_seconds_left() > 0:  # otherwise another worker may have received it meanwhile
            self._hidden_until = until
        return True

    def give_back_at_death(self) -> AbstractContextManager[None]:
        """Have the record made visible if this process dies within the block.

        After its first delivery the record becomes visible at once. After a later delivery it becomes visible
        ``RETRY_SECONDS`` later, because the record's run may be the cause of the deaths.
        """
        seconds = 0 if self.delivery.receives == 1 else RETRY_SECONDS
        request = _make_visibility_request(self._queue_url, self._receipt_handle, seconds)
        return self._wills.hold(self._receipt_handle, self._operations, "ChangeMessageVisibility", request)

    async def hide(self, seconds: float) -> None:
        """Make the record visible after ``seconds``, rounded up to whole seconds.

        Raises ``ClientError`` if the record is lost, and ``StoreUnavailable`` for throttling and outages.
        """
        await _hide(self._operations, self._queue_url, self._receipt_handle, math.ceil(seconds))


@dataclass(frozen=True, slots=True)
class SqsRecords:
    """``QueueRecords`` by ChangeMessageVisibility.

    If a change fails, the queue's own timeout applies, which is longer than a worker may run.
    """

    operations: Operations
    queue_url: str
    times: LeaseTimes = USUAL_TIMES
    wills: LastWills = NO_WILLS

    @asynccontextmanager
    async def hide(self, receipt_handle: str, delivery: RecordDelivery) -> AsyncIterator[SqsHeldRecord]:
        record = SqsHeldRecord(self.operations, self.queue_url, receipt_handle, delivery, self.times, self.wills)
        extensions = asyncio.ensure_future(record.keep_hidden())
        has_failed = True
        try:
            with record.give_back_at_death():
                yield record
            has_failed = False
        finally:
            await stop_all(extensions)
            if has_failed and not record.is_lost:
                try:
                    await record.hide(RETRY_SECONDS)
                except (ClientError, StoreUnavailable) as error:
                    _log_failure(error)


@dataclass(frozen=True, slots=True)
class SqsPushQueue:
    """``PushQueue`` on one FIFO queue."""

    operations: Operations
    queue_url: str

    async def send(self, record: ThreadChange | PushNotice | WebhookDelivery) -> None:
        request = {
            "QueueUrl": self.queue_url,
            "MessageBody": record.model_dump_json(by_alias=True, exclude_none=True),
            # Digests, because ids of tasks may be too long for SQS or contain characters that it refuses.
            "MessageGroupId": _compute_digest(record.group),
            "MessageDeduplicationId": _compute_digest(f"{record.record}\0{record.group}\0{record.name}"),
        }
        await _send(self.operations, request)

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        with contextlib.suppress(ClientError):  # the receipt is no longer valid: another worker has the record
            await _hide(self.operations, self.queue_url, receipt_handle, seconds)


@dataclass(frozen=True, slots=True)
class SqsDelayQueue:
    """``DelayQueue`` on one standard queue, because FIFO queues cannot delay single messages."""

    operations: Operations
    queue_url: str

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        request = {"QueueUrl": self.queue_url, "MessageBody": entry.model_dump_json(), "DelaySeconds": seconds}
        await _send(self.operations, request)


async def _send(operations: Operations, request: dict[str, Any]) -> None:
    """Send a message. Raises ``StoreUnavailable``."""
    try:
        await operations.call("SendMessage", request)
    except ClientError as error:
        raise StoreUnavailable from error


async def _hide(operations: Operations, queue_url: str, receipt_handle: str, seconds: int) -> None:
    await operations.call("ChangeMessageVisibility", _make_visibility_request(queue_url, receipt_handle, seconds))


def _make_visibility_request(queue_url: str, receipt_handle: str, seconds: int) -> dict[str, Any]:
    return {"QueueUrl": queue_url, "ReceiptHandle": receipt_handle, "VisibilityTimeout": seconds}


def _log_failure(error: Exception) -> None:
    logger.warning("visibility not changed", cause=type(error.__cause__ or error).__name__)
    count(Metric.RECORDS_NOT_HIDDEN)


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
