"""Feed queues to functions, as Lambda's event source mapping does.

In the local cloud's own process, or, for tests that kill it, as a process of its own: ``python -m local.worker`` in the
environment of a running local cloud.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from local.engines.clients import REGION, client
from local.errors import LocalCloudError
from local.execution import as_deployed
from local.functions import Function
from local.settings import read_settings
from local.stack import QueueConsumer, Stack, read_stack
from local.template import Endpoints
from local.worker_processes import WorkerEnded

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

logger = logging.getLogger("local.worker")

POLL_SECONDS = 2
"""How long an empty receive waits; also about how long an idle worker takes to notice that it should stop."""


class Invocable(Protocol):
    """A function, in this process or elsewhere."""

    def invoke(self, event: Any) -> "Future[Any]":
        """Hand ``event`` over; the future has the answer or the exception."""
        ...


def sqs_event(messages: Iterable["MessageTypeDef"], queue_arn: str) -> dict[str, Any]:
    """Return the event that Lambda makes of received messages."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message.get("Attributes", {})),
                "messageAttributes": {
                    name: {
                        "stringValue": attribute.get("StringValue"),
                        "stringListValues": [],
                        "binaryListValues": [],
                        "dataType": attribute["DataType"],
                    }
                    for name, attribute in message.get("MessageAttributes", {}).items()
                },
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": REGION,
            }
            for message in messages
        ]
    }


def failed_ids(answer: Any, ids: set[str]) -> set[str]:
    """Return which of the message ``ids`` failed, by Lambda's rules for ReportBatchItemFailures.

    ``None`` and an answer without failures mean success; an unknown or empty identifier, or an answer of another shape,
    fails the whole batch.
    """
    if answer is None:
        return set()
    try:
        failed = {failure["itemIdentifier"] for failure in answer.get("batchItemFailures") or []}
    except (AttributeError, KeyError, TypeError):
        return ids
    return failed if failed <= ids else ids


class Worker:
    """Polls one queue on ``concurrency`` threads and gives each message to the function."""

    def __init__(self, consumer: QueueConsumer, function: Invocable, queues_url: str, concurrency: int) -> None:
        self._consumer = consumer
        self._function = function
        self._sqs = client("sqs", queues_url, max_pool_connections=concurrency * 2 + 2)
        self._queue_url = self._sqs.get_queue_url(QueueName=consumer.queue_name)["QueueUrl"]
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._poll, name=f"{consumer.function} poller {number}", daemon=True)
            for number in range(concurrency)
        ]

    def start(self) -> None:
        """Begin to poll."""
        for thread in self._threads:
            thread.start()

    def stop(self, grace: float = 3.0) -> None:
        """Take no more messages; wait up to ``grace`` seconds for those at work. Unfinished ones stay in the queue.

        Afterwards nobody polls any more either, so that a later worker gets every message.
        """
        self._stopping.set()
        deadline = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _poll(self) -> None:
        while not self._stopping.is_set():
            try:
                messages = self._sqs.receive_message(
                    QueueUrl=self._queue_url,
                    MaxNumberOfMessages=min(self._consumer.batch_size, 10),
                    WaitTimeSeconds=POLL_SECONDS,
                    MessageSystemAttributeNames=["All"],
                    MessageAttributeNames=["All"],
                ).get("Messages", [])
            except (BotoCoreError, ClientError) as problem:
                if not self._stopping.wait(1):
                    logger.warning("Could not poll %s: %s", self._consumer.queue_name, problem)
                continue
            if messages:
                self._hand_over(messages)

    def _hand_over(self, messages: list["MessageTypeDef"]) -> None:
        try:
            answer = self._function.invoke(sqs_event(messages, self._consumer.queue_arn)).result()
        except WorkerEnded as problem:
            logger.info("%s Its messages come again after their visibility timeout.", problem)
            return
        except Exception:
            logger.exception(
                "%s failed; its messages come again after their visibility timeout", self._consumer.function
            )
            return
        failed = failed_ids(answer, {message["MessageId"] for message in messages})
        for message in messages:
            if not self._consumer.reports_failures or message["MessageId"] not in failed:
                try:
                    self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
                except (BotoCoreError, ClientError) as problem:
                    logger.warning("Could not delete a message of %s: %s", self._consumer.queue_name, problem)


def start_workers(
    consumers: Iterable[QueueConsumer], functions: Mapping[str, Invocable], queues_url: str, concurrency: int
) -> list[Worker]:
    """Start a worker for every queue that feeds a function; dead letters get two threads."""
    workers = [
        Worker(
            consumer,
            functions[consumer.function],
            queues_url,
            min(concurrency, 2) if consumer.takes_dead_letters else concurrency,
        )
        for consumer in consumers
    ]
    for worker in workers:
        worker.start()
    return workers


def main() -> int:
    """Run the workers of a local cloud that runs elsewhere, until SIGTERM or Ctrl-C."""
    queues_url = os.environ.get("AWS_ENDPOINT_URL_SQS")
    if not queues_url:
        print(
            "AWS_ENDPOINT_URL_SQS is not set: start this in the environment of a running local cloud.", file=sys.stderr
        )
        return 1
    template = Path(os.environ.get("BATON_LOCAL_TEMPLATE", "template.yaml"))
    endpoints = Endpoints(gateway="", sockets="", connections="", queues=queues_url)
    try:
        stack = read_stack(template, {"Stage": "local"}, endpoints)
        with as_deployed(stack, read_settings()):
            return serve(stack, queues_url)
    except LocalCloudError as problem:
        print(problem, file=sys.stderr)
        return 1


def serve(stack: Stack, queues_url: str) -> int:
    """Load the functions and feed them, until SIGTERM or Ctrl-C."""
    functions = {consumer.function: Function(stack.functions[consumer.function]) for consumer in stack.consumers}
    workers = start_workers(stack.consumers, functions, queues_url, int(os.environ.get("BATON_LOCAL_WORKERS", "16")))
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    print("The worker polls.", flush=True)
    stopping.wait()
    for worker in workers:
        worker.stop()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # handlers may still be inside a call; what they hold comes again
