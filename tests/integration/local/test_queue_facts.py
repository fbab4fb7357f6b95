"""What the product relies on in a FIFO queue, on the engine that stands for SQS."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from local.engines.clients import client
from tests.engines import QueueAt

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

pytestmark = pytest.mark.usefixtures("elasticmq")


@pytest.fixture
def sqs(elasticmq: str) -> "Iterator[SQSClient]":
    sqs = client("sqs", elasticmq)
    yield sqs
    sqs.close()


def send(sqs: "SQSClient", queue: QueueAt, body: str, group: str = "a", deduplication: str | None = None) -> None:
    sqs.send_message(
        QueueUrl=queue.url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=deduplication or body
    )


def look(sqs: "SQSClient", url: str, wait: int = 0) -> "list[MessageTypeDef]":
    """Receive at most one message."""
    received = sqs.receive_message(QueueUrl=url, MessageSystemAttributeNames=["All"], WaitTimeSeconds=wait)
    return received.get("Messages", [])


def take(sqs: "SQSClient", url: str) -> "MessageTypeDef":
    """Receive the one message that has to come."""
    [message] = look(sqs, url, wait=10)
    return message


def give_back(sqs: "SQSClient", queue: QueueAt, message: "MessageTypeDef") -> None:
    sqs.change_message_visibility(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)


def finish(sqs: "SQSClient", queue: QueueAt, message: "MessageTypeDef") -> None:
    sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])


def test_one_message_of_a_group_is_in_flight_at_a_time(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    send(sqs, queue, "a1")
    send(sqs, queue, "a2")
    send(sqs, queue, "b1", group="b")
    taken = [take(sqs, queue.url), take(sqs, queue.url)]
    assert {message["Body"] for message in taken} == {"a1", "b1"}
    assert look(sqs, queue.url) == []
    finish(sqs, queue, next(message for message in taken if message["Body"] == "a1"))
    next_message = take(sqs, queue.url)
    assert next_message["Body"] == "a2"


def test_a_message_given_back_comes_before_those_behind_it(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    for body in ("1", "2", "3"):
        send(sqs, queue, body)
    order = []
    for attempt in (1, 2, 3):
        message = take(sqs, queue.url)
        assert message["Attributes"]["ApproximateReceiveCount"] == str(attempt)
        order.append(message["Body"])
        give_back(sqs, queue, message)
    assert order == ["1", "1", "1"]


def test_a_lapsed_visibility_timeout_keeps_the_order(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue(VisibilityTimeout="1")
    send(sqs, queue, "1")
    send(sqs, queue, "2")
    first = take(sqs, queue.url)
    again = take(sqs, queue.url)
    assert (first["Body"], again["Body"]) == ("1", "1")
    finish(sqs, queue, again)
    second = take(sqs, queue.url)
    assert second["Body"] == "2"


def test_a_deduplication_id_counts_within_its_group_also_after_a_delete(
    sqs: "SQSClient", new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue()
    send(sqs, queue, "1", deduplication="same")
    message = take(sqs, queue.url)
    finish(sqs, queue, message)
    send(sqs, queue, "repeated", deduplication="same")
    assert look(sqs, queue.url) == []
    send(sqs, queue, "2", deduplication="other")
    message = take(sqs, queue.url)
    assert message["Body"] == "2"


def test_a_message_received_too_often_goes_to_the_dead_letters_and_frees_its_group(
    sqs: "SQSClient", new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue(max_receives=2)
    send(sqs, queue, "poison")
    send(sqs, queue, "next")
    for _ in range(2):
        message = take(sqs, queue.url)
        assert message["Body"] == "poison"
        give_back(sqs, queue, message)
    following = take(sqs, queue.url)
    assert following["Body"] == "next"
    dead = take(sqs, queue.dead_letters_url)
    assert (dead["Body"], dead["Attributes"]["MessageGroupId"]) == ("poison", "a")


def test_a_message_carries_what_the_worker_reads(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    send(sqs, queue, "1")
    message = take(sqs, queue.url)
    attributes = message["Attributes"]
    assert attributes["MessageGroupId"] == "a"
    assert attributes["MessageDeduplicationId"] == "1"
    assert int(attributes["SequenceNumber"]) >= 0
    assert int(attributes["SentTimestamp"]) > 1_700_000_000_000
