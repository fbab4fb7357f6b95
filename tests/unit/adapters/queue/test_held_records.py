"""A worker keeps its queue record hidden, and notices when it no longer does: in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from baton.adapters.aws.blocking_calls import ThreadedOperations
from baton.adapters.aws.sqs import RETRY_SECONDS, SqsRecords
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import USUAL_TIMES as TIMES
from baton.ports.threads.turn_queue import HeldRecord
from tests.virtual_time import DeterministicLoop

LOST = ClientError({"Error": {"Code": "ReceiptHandleIsInvalid"}}, "ChangeMessageVisibility")
OUTAGE = EndpointConnectionError(endpoint_url="https://sqs")


@dataclass
class Queue:
    """A boto3 client that records visibility timeouts, and fails on request."""

    failure: Exception | None = None
    timeouts: list[int] = field(default_factory=list)

    def change_message_visibility(self, **request: Any) -> None:
        self.timeouts.append(request["VisibilityTimeout"])
        if self.failure is not None:
            raise self.failure


def hold(queue: Queue, receives: int, work: Callable[[HeldRecord], Awaitable[None]]) -> None:
    """Do the work while the record is hidden."""

    async def hide() -> None:
        records = SqsRecords(ThreadedOperations(queue), "http://queue")
        async with records.hide("receipt", RecordDelivery("record", receives)) as record:
            await work(record)

    loop = DeterministicLoop()
    try:
        loop.run_until_complete(hide())
    finally:
        loop.close()


def test_a_record_is_hidden_for_seconds_and_extended_while_its_worker_lives() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        for _ in range(40):
            await asyncio.sleep(1)
            assert record.count_seconds_left() >= TIMES.hidden - TIMES.extend

    hold(queue, 1, work)
    assert set(queue.timeouts) == {TIMES.hidden}


def test_work_that_fails_gives_its_record_back_at_once() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hold(queue, 1, work)
    assert queue.timeouts == [TIMES.hidden, RETRY_SECONDS]


def test_an_unexpected_failure_does_not_end_the_extensions() -> None:
    queue = Queue(RuntimeError("a fault of the SDK"))

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(TIMES.extend)
        queue.failure = None
        await asyncio.sleep(2 * TIMES.extend)
        assert record.count_seconds_left() >= TIMES.hidden - TIMES.extend

    hold(queue, 1, work)


def test_from_the_second_attempt_on_a_record_is_hidden_for_longer_from_the_start() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(0.5)
        record.note_attempt(2)
        await asyncio.sleep(0.5)

    hold(queue, 2, work)
    assert queue.timeouts == [TIMES.hidden_again]


def test_a_record_that_came_back_before_its_run_began_is_hidden_for_seconds_only() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(0.5)
        record.note_attempt(1)
        await asyncio.sleep(0.5)
        assert record.count_seconds_left() <= TIMES.hidden

    hold(queue, 2, work)
    assert queue.timeouts == [TIMES.hidden_again, TIMES.hidden]


def test_a_first_delivery_that_takes_over_a_run_is_hidden_for_longer_at_once() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(0.5)
        record.note_attempt(2)
        await asyncio.sleep(0.5)

    hold(queue, 1, work)
    assert queue.timeouts == [TIMES.hidden, TIMES.hidden_again]


def test_while_the_queue_does_not_answer_the_time_runs_down_and_is_regained_if_it_answers_in_time() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(1)
        queue.failure = OUTAGE
        await asyncio.sleep(TIMES.hidden - 4)
        assert record.count_seconds_left() < TIMES.extend + 1
        queue.failure = None
        await asyncio.sleep(TIMES.extend)
        assert record.count_seconds_left() > TIMES.hidden - TIMES.extend - 1

    hold(queue, 1, work)


def test_a_record_that_was_visible_for_a_moment_is_never_taken_for_hidden_again() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(1)
        queue.failure = OUTAGE
        await asyncio.sleep(TIMES.hidden)
        queue.failure = None
        await asyncio.sleep(2 * TIMES.extend)
        assert record.count_seconds_left() < 0

    hold(queue, 1, work)


def test_a_receipt_that_is_refused_means_that_somebody_else_has_the_record() -> None:
    queue = Queue()

    async def work(record: HeldRecord) -> None:
        await asyncio.sleep(1)
        assert record.count_seconds_left() > 0
        queue.failure = LOST
        await asyncio.sleep(TIMES.extend)
        assert record.count_seconds_left() < 0

    hold(queue, 1, work)
