"""Feed queues to functions, as Lambda's event source mapping does.

It runs in the local cloud's process, or, for tests that kill it, in a separate one:
``python -m baton_local.workers.worker`` in the environment of a running local cloud.
"""

import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from baton_local.account import REGION
from baton_local.engines.clients import client
from baton_local.errors import LocalCloudError
from baton_local.execution import as_deployed
from baton_local.functions import Function, Invocable
from baton_local.gateway.callers import Caller, read_sender
from baton_local.settings import CONCURRENCY, read_settings
from baton_local.signals import receive
from baton_local.stack.declarations import QueueConsumer, Stack, read_stack
from baton_local.stack.template import Endpoints
from baton_local.workers.backlog import Backlog
from baton_local.workers.pressure import Pressure
from baton_local.workers.worker_processes import WorkerEnded

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

logger = logging.getLogger("baton_local.workers.worker")

POLL_SECONDS = 2
"""Seconds for which a receive waits for a message. An idle worker may take as long to stop."""

Charge = Callable[[str, float], None]

BEGINNING = 1
"""The most messages that begin to be handled at the same time. They share a processor, so more would end no sooner."""
BUSY_SECONDS = 0.1
"""The time for which a message counts as beginning. After that it probably waits for a model and needs no processor."""
PRESSED_SECONDS = 2.0
"""The time for which a message counts as beginning while the process is overloaded."""
CHARGED_SECONDS = 0.25
"""The longest time that is charged to a message's sender. The rest is probably a wait for a model."""
PRESSURE_SECONDS = 0.05
"""The pause between two checks of the load."""
MAX_BACKLOG = 500
"""The most deliveries that are received before their turn. They must begin within the queue's visibility timeout."""
FINISHERS = 4
"""Threads that delete handled messages."""
RETRY_SECONDS = 1.0
"""The pause between two requests to a queue that does not answer."""


def make_sqs_event(messages: Iterable["MessageTypeDef"], queue_arn: str) -> dict[str, Any]:
    """Return the event with which Lambda invokes a function for received messages."""
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


def find_failed_ids(answer: Any, ids: set[str]) -> set[str]:
    """Return the message ``ids`` that failed, by Lambda's rules for ReportBatchItemFailures.

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
    """A worker of one queue, which handles up to ``concurrency`` messages at the same time.

    One thread polls. While all places are taken, messages wait in the queue. Then all waiting messages are received,
    and their senders take turns.
    """

    def __init__(
        self,
        consumer: QueueConsumer,
        function: Invocable,
        queues_url: str,
        concurrency: int,
        is_pressed: Callable[[], bool] = lambda: False,
        beginning: int = BEGINNING,
        charge: Charge = lambda body, seconds: None,
    ) -> None:
        """At most ``beginning`` messages begin together, and fewer a second while ``is_pressed()``; others wait.

        ``charge(body, seconds)`` is called with the time for which the message with this body used the process, at
        most ``CHARGED_SECONDS``.
        """
        self._charge = charge
        self._beginning = beginning
        self._is_pressed = is_pressed
        self._consumer = consumer
        self._function = function
        self._concurrency = concurrency
        self._sqs = client("sqs", queues_url, max_pool_connections=FINISHERS + 2)
        self._queue_url = self._sqs.get_queue_url(QueueName=consumer.queue_name)["QueueUrl"]
        self._changed = threading.Condition()
        self._stopping = False
        self._at_work = 0
        self._start_times: dict[Future[Any], float] = {}
        """The monotonic times at which the invocations in progress began."""
        self._done: queue.SimpleQueue[tuple[list[MessageTypeDef], Future[Any]] | None] = queue.SimpleQueue()
        self._is_reachable = True
        self._backlog: Backlog[list[MessageTypeDef]] = Backlog()
        name = consumer.function
        self._poller = threading.Thread(target=self._poll, name=f"{name} poller", daemon=True)
        self._finishers = [
            threading.Thread(target=self._finish, name=f"{name} finisher {number}", daemon=True)
            for number in range(FINISHERS)
        ]

    def start(self) -> None:
        """Begin to poll."""
        for thread in (self._poller, *self._finishers):
            thread.start()

    def stop(self, grace: float = 3.0) -> None:
        """Stop receiving messages, and wait up to ``grace`` seconds for those in progress, and for the poller.

        Messages that have not begun go back to the queue. A poller that waits for a message ends within
        ``POLL_SECONDS``. With a ``grace`` of 0, only ask the worker to stop; a second call must follow.
        """
        deadline = time.monotonic() + grace
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._at_work, grace)
        self._poller.join(max(0.0, deadline - time.monotonic()))
        if grace:
            for _ in self._finishers:
                self._done.put(None)

    def _poll(self) -> None:
        """Receive messages and hand them over, until the worker stops. Then give back those that wait."""
        while True:
            was_free = self._is_admitting()
            if not self._wait_for_place():
                break
            if self._backlog or not was_free:
                self._receive_waiting()
            messages = self._backlog.take() if self._backlog else self._receive(POLL_SECONDS)
            if messages and self._take_place():
                self._hand_over(messages)
            else:
                self._give_back(messages)
        while self._backlog:
            self._give_back(self._backlog.take())

    def _receive_waiting(self) -> None:
        """Receive the messages that were sent while all places were taken, so that senders can take turns."""
        while len(self._backlog) < MAX_BACKLOG and (messages := self._receive(0)):
            self._backlog.add(read_sender(messages[0]["Body"]) or Caller(""), messages)

    def _wait_for_place(self) -> bool:
        """Wait until a message may begin. Return false if the worker is stopping instead."""
        with self._changed:
            while not self._stopping and not self._is_admitting():
                self._changed.wait(PRESSURE_SECONDS)
            return not self._stopping

    def _is_admitting(self) -> bool:
        """Return whether a place is free, and so few messages are beginning that another one may."""
        is_pressed = self._is_pressed()
        since = time.monotonic() - (PRESSED_SECONDS if is_pressed else BUSY_SECONDS)
        beginning = sum(began > since for began in list(self._start_times.values()))
        return self._at_work < self._concurrency and beginning < self._beginning

    def _take_place(self) -> bool:
        """Count one more message at work, unless the worker is stopping. Return whether it was counted."""
        with self._changed:
            self._at_work += not self._stopping
            return not self._stopping

    def _receive(self, wait_seconds: int) -> list["MessageTypeDef"]:
        """Return the next messages; none if none arrives, or if the queue does not answer, which is logged."""
        try:
            messages = self._sqs.receive_message(
                QueueUrl=self._queue_url,
                MaxNumberOfMessages=min(self._consumer.batch_size, 10),
                WaitTimeSeconds=wait_seconds,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            ).get("Messages", [])
        except (BotoCoreError, ClientError) as problem:
            self._report(problem)
            time.sleep(RETRY_SECONDS)
            return []
        self._report(None)
        return messages

    def _report(self, problem: Exception | None) -> None:
        """Log once that the queue cannot be polled, and once that it can be polled again."""
        if self._is_reachable and problem and not self._stopping:
            logger.warning("Cannot poll %s; the worker keeps trying: %s", self._consumer.queue_name, problem)
        elif not self._is_reachable and not problem:
            logger.warning("%s can be polled again.", self._consumer.queue_name)
        self._is_reachable = problem is None

    def _hand_over(self, messages: list["MessageTypeDef"]) -> None:
        future = self._function.invoke(make_sqs_event(messages, self._consumer.queue_arn))
        self._start_times[future] = time.monotonic()
        future.add_done_callback(lambda future: self._end(messages, future))

    def _end(self, messages: list["MessageTypeDef"], future: "Future[Any]") -> None:
        took = min(time.monotonic() - self._start_times.pop(future), CHARGED_SECONDS)
        for message in messages:
            self._charge(message["Body"], took / len(messages))
        self._done.put((messages, future))

    def _finish(self) -> None:
        """Settle ended invocations, one after the other, and free their places."""
        while item := self._done.get():
            messages, future = item
            try:
                self._settle(messages, future)
            finally:
                with self._changed:
                    self._at_work -= 1
                    self._changed.notify_all()

    def _settle(self, messages: list["MessageTypeDef"], future: "Future[Any]") -> None:
        """Delete the messages that the function has handled without an error."""
        try:
            answer = future.result()
        except WorkerEnded as problem:
            logger.info("%s Its messages are received again after their visibility timeout.", problem)
            return
        except Exception:
            logger.exception(
                "%s failed; its messages are received again after their visibility timeout", self._consumer.function
            )
            return
        failed = find_failed_ids(answer, {message["MessageId"] for message in messages})
        for message in messages:
            if not self._consumer.reports_failures or message["MessageId"] not in failed:
                try:
                    self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
                except (BotoCoreError, ClientError) as problem:
                    logger.warning("Could not delete a message of %s: %s", self._consumer.queue_name, problem)

    def _give_back(self, messages: list["MessageTypeDef"]) -> None:
        """Make messages visible again that were received while this worker was stopping."""
        for message in reversed(messages):
            with contextlib.suppress(BotoCoreError, ClientError):
                self._sqs.change_message_visibility(
                    QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
                )


def start_workers(
    consumers: Iterable[QueueConsumer],
    functions: Mapping[str, Invocable],
    queues_url: str,
    concurrency: int,
    is_pressed: Callable[[], bool] = lambda: False,
    beginning: int = BEGINNING,
    charge: Charge = lambda body, seconds: None,
) -> list[Worker]:
    """Start a worker for each consumer. At most two dead letters are handled at a time.

    ``functions`` are those of the consumers, by name. See ``Worker`` for the other parameters.
    """
    workers = [
        Worker(
            consumer,
            functions[consumer.function],
            queues_url,
            min(concurrency, 2) if consumer.takes_dead_letters else concurrency,
            is_pressed,
            beginning,
            charge,
        )
        for consumer in consumers
    ]
    for worker in workers:
        worker.start()
    return workers


def main() -> int:
    """Run the workers of a local cloud in another process, until SIGTERM or Ctrl-C.

    Return 0, or 1 after an error, which is printed.
    """
    queues_url = os.environ.get("AWS_ENDPOINT_URL_SQS")
    if not queues_url:
        print(
            "AWS_ENDPOINT_URL_SQS is not set: start this in the environment of a running local cloud.", file=sys.stderr
        )
        return 1
    template = Path(os.environ.get("BATON_LOCAL_TEMPLATE", "template.yaml"))
    endpoints = Endpoints(gateway="", sockets="", connections="", queues=queues_url)
    try:
        settings = read_settings()
        stack = read_stack(template, {"Stage": "local"}, endpoints, settings.cache_dir)
        with as_deployed(stack, settings):
            return serve(stack, queues_url, settings.workers or CONCURRENCY)
    except LocalCloudError as problem:
        print(problem, file=sys.stderr)
        return 1


def serve(stack: Stack, queues_url: str, concurrency: int) -> int:
    """Load the functions and feed them until SIGTERM or Ctrl-C. Return the exit code, 0."""
    functions = {consumer.function: Function(stack.functions[consumer.function]) for consumer in stack.consumers}
    pressure = Pressure()
    workers = start_workers(stack.consumers, functions, queues_url, concurrency, lambda: pressure.is_high)
    received: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.put(number))
    print("The worker polls.", flush=True)
    receive(received)
    for worker in workers:
        worker.stop()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # handlers may still be inside a call; their messages are delivered again
