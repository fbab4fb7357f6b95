"""Queues feed functions as Lambda's event source mapping does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.settings import ROOT
from local.worker import failed_ids
from tests.integration.local.sockets import exchange, open_socket, receive

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
    assert failed_ids(answer, {"1", "2"}) == failed


async def test_a_message_that_keeps_failing_reaches_the_dead_letter_function(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        assert await exchange(socket, "poison") == {"dead": "poison"}
        assert (await exchange(socket, "next"))["answer"] == "next"


@pytest.fixture
def worker_process(cloud: LocalCloud) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "local.worker"],
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
        worker_process.terminate()
        assert worker_process.wait(60) == 0
        cloud.start_workers()
    assert [answer["answer"] for answer in answers] == list("01234")


def test_a_worker_without_a_cloud_says_what_it_needs() -> None:
    environment = {**os.environ, "AWS_ENDPOINT_URL_SQS": ""}
    result = subprocess.run(
        [sys.executable, "-m", "local.worker"], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "in the environment of a running local cloud" in result.stderr


async def test_workers_stop_and_start_again(cloud: LocalCloud, tmp_path: Path) -> None:
    cloud.stop_workers()
    async with open_socket(cloud) as socket:
        await socket.send("waiting")
        cloud.start_workers()
        assert (await receive(socket))["answer"] == "waiting"
