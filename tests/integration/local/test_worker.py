"""Queues feed functions as Lambda's event source mapping does."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from baton.composition.startup import event_loop
from baton_local.cloud import LocalCloud
from baton_local.engines.clients import client
from baton_local.engines.queues import Queues
from baton_local.root import ROOT
from baton_local.stack.declarations import Stack
from baton_local.workers.pressure import Pressure
from baton_local.workers.worker import Worker, find_failed_ids
from tests.engines import QueueAt
from tests.integration.local.sockets import exchange, open_socket, poll, receive
from tests.signals import send_to_other_thread

ONE = {"itemIdentifier": "1"}


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (None, set()),
        ({}, set()),
        ({"batchItemFailures": []}, set()),
        ({"batchItemFailures": None}, set()),
        ({"batchItemFailures": [ONE]}, {"1"}),
        ({"batchItemFailures": [{"itemIdentifier": "unknown"}]}, {"1", "2"}),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, {"1", "2"}),
        ({"batchItemFailures": [{"wrong": "1"}]}, {"1", "2"}),
        ("text", {"1", "2"}),
    ],
)
def test_failures_follow_lambdas_rules(answer: object, failed: set[str]) -> None:
    assert find_failed_ids(answer, {"1", "2"}) == failed


async def test_a_message_that_keeps_failing_reaches_the_dead_letter_function(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        assert await exchange(socket, "poison") == {"dead": "poison"}
        assert (await exchange(socket, "next"))["answer"] == "next"


@pytest.fixture
def worker_process(cloud: LocalCloud) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "baton_local.workers.worker"],
        env={**os.environ, **cloud.environment},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        yield worker
        worker.kill()


async def test_a_worker_runs_as_a_process_of_its_own(
    cloud: LocalCloud, worker_process: "subprocess.Popen[str]"
) -> None:
    assert worker_process.stdout
    assert worker_process.stdout.readline() == "The worker polls.\n"
    cloud.stop_workers()
    try:
        async with open_socket(cloud) as socket:
            answers = [await exchange(socket, str(number)) for number in range(5)]
    finally:
        send_to_other_thread(worker_process.pid, signal.SIGTERM)
        assert worker_process.wait(60) == 0
        cloud.start_workers()
    assert [answer["answer"] for answer in answers] == list("01234")


def test_a_worker_without_a_cloud_says_what_it_needs() -> None:
    environment = {**os.environ, "AWS_ENDPOINT_URL_SQS": ""}
    result = subprocess.run(
        [sys.executable, "-m", "baton_local.workers.worker"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "in the environment of a running local cloud" in result.stderr


async def test_workers_stop_and_start_again(cloud: LocalCloud, tmp_path: Path) -> None:
    cloud.stop_workers()
    async with open_socket(cloud) as socket:
        await socket.send("waiting")
        cloud.start_workers()
        assert (await receive(socket))["answer"] == "waiting"


class Recorder:
    """A function that answers at once and remembers which groups it had."""

    def __init__(self, enough: int) -> None:
        self.groups: list[str] = []
        self.enough = threading.Event()
        self._count = enough

    def invoke(self, event: Any) -> "Future[Any]":
        self.groups += [record["attributes"]["MessageGroupId"] for record in event["Records"]]
        if len(self.groups) >= self._count:
            self.enough.set()
        future: Future[Any] = Future()
        future.set_result(None)
        return future


def test_with_more_busy_conversations_than_places_everyone_is_served_and_each_is_charged(
    product_stack: Stack, queues: str, new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue()
    sqs = client("sqs", queues)
    for conversation in range(60):
        for number in range(4):
            sqs.send_message(
                QueueUrl=queue.url,
                MessageBody=f"tenant#{conversation}",
                MessageGroupId=f"tenant#{conversation}",
                MessageDeduplicationId=f"{conversation}.{number}",
            )
    sqs.close()
    [consumer] = [consumer for consumer in product_stack.consumers if consumer.function == "TurnsFunction"]
    function = Recorder(enough=120)
    charged: Counter[str] = Counter()
    worker = Worker(
        replace(consumer, queue_name=queue.url.rpartition("/")[2]),
        function,
        queues,
        concurrency=16,
        charge=lambda body, seconds: charged.update([body]),
    )
    worker.start()
    assert function.enough.wait(60)
    worker.stop()
    assert charged == Counter(function.groups)
    served = Counter(function.groups[:120])
    assert len(served) == 60
    assert max(served.values()) <= 3


class Held:
    """A function whose first message ends when ``goes_on`` is set, and the senders of its messages in their order."""

    def __init__(self, count: int) -> None:
        self.senders: list[str] = []
        self.has_begun, self.is_enough, self.first = threading.Event(), threading.Event(), Future[Any]()
        self._count = count

    def invoke(self, event: Any) -> "Future[Any]":
        self.senders += [json.loads(record["body"])["userId"] for record in event["Records"]]
        if len(self.senders) >= self._count:
            self.is_enough.set()
        if not self.has_begun.is_set():
            self.has_begun.set()
            return self.first
        future: Future[Any] = Future()
        future.set_result(None)
        return future


def test_a_colleagues_message_does_not_wait_for_all_of_a_flood(
    product_stack: Stack, queues: str, new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue()
    sqs = client("sqs", queues)

    def send(user: str, number: int) -> None:
        sqs.send_message(
            QueueUrl=queue.url,
            MessageBody=json.dumps({"tenantId": "acme", "userId": user}),
            MessageGroupId=f"acme#{user}{number}",
            MessageDeduplicationId=f"{user}.{number}",
        )

    [consumer] = [consumer for consumer in product_stack.consumers if consumer.function == "TurnsFunction"]
    function = Held(count=12)
    worker = Worker(replace(consumer, queue_name=queue.url.rpartition("/")[2]), function, queues, concurrency=1)
    send("ada", 0)
    worker.start()
    assert function.has_begun.wait(60)
    for number in range(1, 40):
        send("ada", number)
    send("bob", 0)
    sqs.close()
    function.first.set_result(None)
    assert function.is_enough.wait(60)
    worker.stop()
    assert "bob" in function.senders[:3]


def test_a_queue_that_does_not_answer_is_reported_once_and_when_it_is_back(
    product_stack: Stack, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton_local.workers.worker.RETRY_SECONDS", 0.01)
    engine = Queues()
    url = engine.start()
    sqs = client("sqs", url)
    where = sqs.create_queue(QueueName="turns.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    [consumer] = [consumer for consumer in product_stack.consumers if consumer.function == "TurnsFunction"]
    function = Recorder(enough=1)
    worker = Worker(replace(consumer, queue_name="turns.fifo"), function, url, concurrency=16)
    tries = threading.Semaphore(0)
    receive = worker._sqs.receive_message

    def refuse(**_: Any) -> Any:
        tries.release()
        raise EndpointConnectionError(endpoint_url=url)

    monkeypatch.setattr(worker._sqs, "receive_message", refuse)
    worker.start()
    assert all(tries.acquire(timeout=10) for _ in range(20))
    monkeypatch.setattr(worker._sqs, "receive_message", receive)
    sqs.send_message(QueueUrl=where, MessageBody="1", MessageGroupId="a", MessageDeduplicationId="1")
    assert function.enough.wait(10)
    worker.stop()
    sqs.close()
    engine.stop()
    reported = [
        record.getMessage().partition(":")[0]
        for record in caplog.records
        if record.name == "baton_local.workers.worker"
    ]
    assert reported == ["Cannot poll turns.fifo; the worker keeps trying", "turns.fifo can be polled again."]


class Holder:
    """A function that never answers, and counts what it has."""

    def __init__(self) -> None:
        self.at_work = threading.Semaphore(0)

    def invoke(self, event: Any) -> "Future[Any]":
        self.at_work.release()
        return Future()


def test_a_process_that_is_late_takes_no_more_than_it_can_carry(
    product_stack: Stack, queues: str, new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue()
    sqs = client("sqs", queues)
    for conversation in range(40):
        sqs.send_message(
            QueueUrl=queue.url, MessageBody="1", MessageGroupId=str(conversation), MessageDeduplicationId="1"
        )
    [consumer] = [consumer for consumer in product_stack.consumers if consumer.function == "TurnsFunction"]
    pressed = threading.Event()
    pressed.set()
    looked = threading.Semaphore(0)

    def is_pressed() -> bool:
        looked.release()
        return pressed.is_set()

    function = Holder()
    worker = Worker(replace(consumer, queue_name=queue.url.rpartition("/")[2]), function, queues, 100, is_pressed)
    worker.start()
    assert all(function.at_work.acquire(timeout=20) for _ in range(1))
    assert all(looked.acquire(timeout=20) for _ in range(3))
    assert not function.at_work.acquire(blocking=False)
    pressed.clear()
    assert all(function.at_work.acquire(timeout=20) for _ in range(39))
    worker.stop(grace=0)
    sqs.close()


async def test_pressure_is_high_while_the_loop_of_the_turns_is_late() -> None:
    pressure = Pressure()
    await poll(lambda: not pressure.is_high)
    release = threading.Event()

    async def block() -> None:
        release.wait()

    blocking = threading.Thread(target=lambda: event_loop.run(block()))
    blocking.start()
    await poll(lambda: pressure.is_high)
    release.set()
    blocking.join()
    await poll(lambda: not pressure.is_high)
