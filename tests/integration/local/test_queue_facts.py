"""Facts about queues on which the product relies, on the engine that stands for SQS."""

import json
import resource
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from baton_local.engines.clients import client
from baton_local.engines.queues import Queues
from baton_local.engines.queues.fifo import DEDUPLICATION_SECONDS
from baton_local.engines.queues.journal import Journal
from baton_local.engines.queues.service import SqsService
from baton_local.errors import EngineFailed
from baton_local.root import ROOT
from tests.engines import QueueAt

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

pytestmark = pytest.mark.usefixtures("queues")


@pytest.fixture
def sqs(queues: str) -> "Iterator[SQSClient]":
    sqs = client("sqs", queues)
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


def test_groups_that_wait_take_turns(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    for group in range(20):
        for number in range(5):
            send(sqs, queue, f"{number}", group=f"tenant#{group}", deduplication=f"{group}.{number}")
    served: Counter[str] = Counter()
    for _ in range(50):
        message = take(sqs, queue.url)
        group = message["Attributes"]["MessageGroupId"]
        assert message["Body"] == str(served[group])
        served[group] += 1
        finish(sqs, queue, message)
    assert len(served) == 20
    assert set(served.values()) == {2, 3}


def test_several_messages_of_a_group_come_in_order_and_block_it_together(
    sqs: "SQSClient", new_queue: Callable[..., QueueAt]
) -> None:
    queue = new_queue()
    for body in ("1", "2", "3"):
        send(sqs, queue, body)
    received = sqs.receive_message(QueueUrl=queue.url, MaxNumberOfMessages=2)["Messages"]
    assert [message["Body"] for message in received] == ["1", "2"]
    finish(sqs, queue, received[0])
    assert look(sqs, queue.url) == []
    give_back(sqs, queue, received[1])
    again = take(sqs, queue.url)
    assert again["Body"] == "2"


def test_a_receipt_counts_while_its_message_is_in_flight(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    send(sqs, queue, "1")
    first = take(sqs, queue.url)
    give_back(sqs, queue, first)
    for late in (finish, give_back):
        with pytest.raises(ClientError, match="expired"):
            late(sqs, queue, first)
    second = take(sqs, queue.url)
    with pytest.raises(ClientError, match="expired"):
        finish(sqs, queue, first)
    finish(sqs, queue, second)
    finish(sqs, queue, second)  # once more is not an error
    with pytest.raises(sqs.exceptions.ReceiptHandleIsInvalid):
        sqs.delete_message(QueueUrl=queue.url, ReceiptHandle="none")


def test_who_waits_for_a_message_and_leaves_gets_none(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    impatient = client("sqs", queue.endpoint, read_timeout=1)
    with pytest.raises(ReadTimeoutError):
        look(impatient, queue.url, wait=20)
    impatient.close()
    send(sqs, queue, "1")
    message = take(sqs, queue.url)
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_what_is_missing_or_unknown_is_an_error(sqs: "SQSClient", new_queue: Callable[..., QueueAt]) -> None:
    queue = new_queue()
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        send(sqs, replace(queue, url=f"{queue.url}-other"), "1")
    with pytest.raises(ClientError, match="MessageGroupId"):
        sqs.send_message(QueueUrl=queue.url, MessageBody="1")
    with pytest.raises(ClientError, match="MessageDeduplicationId"):
        sqs.send_message(QueueUrl=queue.url, MessageBody="1", MessageGroupId="a")
    with pytest.raises(ClientError, match="1048576"):
        send(sqs, queue, "a" * 1_048_577, deduplication="1")
    with pytest.raises(ClientError, match="PurgeQueue"):
        sqs.purge_queue(QueueUrl=queue.url)
    with pytest.raises(ClientError, match="FIFO"):
        sqs.create_queue(QueueName="standard.fifo")


SERVES_QUEUES = """
import resource, sys
from pathlib import Path
from baton_local.engines.queues import Queues
print(Queues(Path(sys.argv[1])).start(), flush=True)
for most_bytes in sys.stdin:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), resource.RLIM_INFINITY))
    print("done", flush=True)
"""


class Disk:
    """The files that a process which serves queues may write."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    @contextmanager
    def full(self) -> Iterator[None]:
        """Have every write to a file fail meanwhile."""
        self._limit(0)
        yield
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, most_bytes: int) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{most_bytes}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def serve_from_disk(folder: Path) -> "Iterator[tuple[SQSClient, Disk]]":
    """Queues kept in ``folder``, served by a process that is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVES_QUEUES, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout
            sqs = client("sqs", process.stdout.readline().strip())
            yield sqs, Disk(process)
            sqs.close()
        finally:
            process.kill()


@contextmanager
def serve(folder: Path) -> "Iterator[SQSClient]":
    """The same, on a disk that is never full."""
    with serve_from_disk(folder) as (sqs, _):
        yield sqs


def test_what_was_sent_outlives_a_killed_process_in_its_order_and_once(tmp_path: Path) -> None:
    with serve(tmp_path) as sqs:
        queue = QueueAt("", sqs.create_queue(QueueName="turns.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"], "")
        for body in ("1", "2", "3"):
            send(sqs, queue, body, group="a")
        finish(sqs, queue, take(sqs, queue.url))
        send(sqs, queue, "1", group="b", deduplication="b1")
        in_flight = [take(sqs, queue.url), take(sqs, queue.url)]
        assert {message["Body"] for message in in_flight} == {"1", "2"}
    with serve(tmp_path) as sqs:
        [url] = sqs.list_queues()["QueueUrls"]
        queue = QueueAt("", url, "")
        send(sqs, queue, "repeated", group="a", deduplication="1")
        send(sqs, queue, "4", group="a")
        came: dict[str, list[str]] = {"a": [], "b": []}
        while received := look(sqs, url):
            attributes = received[0]["Attributes"]
            came[attributes["MessageGroupId"]].append(received[0]["Body"])
            assert attributes["ApproximateReceiveCount"] == ("2" if received[0]["Body"] in {"1", "2"} else "1")
            finish(sqs, queue, received[0])
        assert came == {"a": ["2", "3", "4"], "b": ["1"]}


def create(sqs: "SQSClient", name: str, **attributes: str) -> QueueAt:
    url = sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true", **attributes})["QueueUrl"]
    return QueueAt("", url, "")


def queue_in(sqs: "SQSClient", name: str) -> QueueAt:
    return QueueAt("", sqs.get_queue_url(QueueName=name)["QueueUrl"], "")


def test_a_message_that_is_sent_again_after_the_disk_was_full_outlives_a_killed_process(tmp_path: Path) -> None:
    with serve_from_disk(tmp_path) as (sqs, disk):
        queue = create(sqs, "turns.fifo")
        with disk.full(), pytest.raises(ClientError, match="InternalFailure"):
            send(sqs, queue, "1")
        send(sqs, queue, "1")
    with serve(tmp_path) as sqs:
        assert take(sqs, queue_in(sqs, "turns.fifo").url)["Body"] == "1"


@pytest.mark.nightly
def test_a_dead_letter_is_kept_with_the_next_change_when_the_disk_was_full(tmp_path: Path) -> None:
    with serve_from_disk(tmp_path) as (sqs, disk):
        create(sqs, "dead.fifo")
        redrive = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead.fifo", "maxReceiveCount": 1}
        queue = create(sqs, "turns.fifo", RedrivePolicy=json.dumps(redrive))
        send(sqs, queue, "poison")
        give_back(sqs, queue, take(sqs, queue.url))
        with disk.full(), pytest.raises(ClientError, match="InternalFailure"):
            look(sqs, queue.url)
        send(sqs, queue, "next")
    with serve(tmp_path) as sqs:
        assert take(sqs, queue_in(sqs, "dead.fifo").url)["Body"] == "poison"
        assert take(sqs, queue_in(sqs, "turns.fifo").url)["Body"] == "next"


@pytest.mark.nightly
def test_a_queue_that_is_created_again_after_the_disk_was_full_outlives_a_killed_process(tmp_path: Path) -> None:
    with serve_from_disk(tmp_path) as (sqs, disk):
        with disk.full(), pytest.raises(ClientError, match="InternalFailure"):
            create(sqs, "turns.fifo")
        send(sqs, create(sqs, "turns.fifo"), "1")
    with serve(tmp_path) as sqs:
        assert take(sqs, queue_in(sqs, "turns.fifo").url)["Body"] == "1"


async def test_deduplication_ids_that_count_no_more_leave_the_disk(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    journal = Journal(tmp_path / "queues.db")
    service = SqsService("http://127.0.0.1", journal, lambda: now[0])
    created = await service.handle("CreateQueue", {"QueueName": "turns.fifo", "Attributes": {"FifoQueue": "true"}})

    async def send_one(body: str) -> None:
        names = {"MessageGroupId": "a", "MessageDeduplicationId": body}
        await service.handle("SendMessage", {**created, "MessageBody": body, **names})

    for body in ("1", "2", "3"):
        await send_one(body)
    now[0] += DEDUPLICATION_SECONDS
    await send_one("4")
    journal.close()
    with closing(sqlite3.connect(tmp_path / "queues.db")) as database:
        assert database.execute("SELECT scope FROM sent").fetchall() == [('["4"]',)]


def test_two_local_clouds_cannot_keep_their_queues_in_one_folder(tmp_path: Path) -> None:
    engine = Queues(tmp_path)
    engine.start()
    with pytest.raises(EngineFailed, match="Another local cloud"):
        Queues(tmp_path).start()
    engine.stop()
    engine.start()
    engine.stop()


async def test_messages_of_a_standard_queue_come_when_their_delay_is_over_and_wait_for_no_other(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    journal = Journal(tmp_path / "queues.db")
    service = SqsService("http://127.0.0.1", journal, lambda: now[0])
    created = await service.handle("CreateQueue", {"QueueName": "due"})
    for seconds in (30, 0, 0, 60):
        await service.handle("SendMessage", {**created, "MessageBody": str(seconds), "DelaySeconds": seconds})

    async def receive_bodies() -> list[str]:
        answer = await service.handle("ReceiveMessage", {**created, "MaxNumberOfMessages": 10})
        return [message["Body"] for message in answer["Messages"]]

    assert await receive_bodies() == ["0", "0"]
    now[0] += 30
    assert sorted(await receive_bodies()) == ["0", "0", "30"]  # two were not deleted in time
    journal.close()
    journal = Journal(tmp_path / "queues.db")
    service = SqsService("http://127.0.0.1", journal, lambda: now[0])
    assert "60" not in await receive_bodies()
    now[0] += 30
    assert "60" in await receive_bodies()
    journal.close()


def test_a_message_stays_while_the_queue_for_dead_letters_does_not_exist(tmp_path: Path) -> None:
    redrive = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead.fifo", "maxReceiveCount": 1}
    with serve(tmp_path) as sqs:
        queue = create(sqs, "turns.fifo", RedrivePolicy=json.dumps(redrive))
        send(sqs, queue, "poison")
        with pytest.raises(ClientError, match="QueueDoesNotExist"):
            take(sqs, queue.url)
        create(sqs, "dead.fifo")
        assert take(sqs, queue.url)["Body"] == "poison"
