"""This release continues what the previous one has begun, from its items, files and queue records.

``tests/upgrade`` has the recording, and the program that made it by running that release.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.upgrade.matters import MATTERS
from tests.upgrade.matters.matter import Matter
from tests.upgrade.people import World
from tests.upgrade.recording import Recording
from tests.upgrade.serving import PROJECT, project_environment
from tests.upgrade.trees import PreviousRelease


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.read(PreviousRelease.read().record)


@pytest.fixture(scope="module")
def continued(recording: Recording) -> Iterator[RunningCloud]:
    """This release over what the previous one has stored, at the moment when it ended."""
    settings = project_environment() | {"BATON_DEMO_DELAY_MS": "0"}
    del settings["BATON_AGENTS_DIR"]
    with RunningCloud(settings=settings, agents=PROJECT / "agents") as cloud:
        environment = cloud.environment
        dynamodb = client("dynamodb", environment["AWS_ENDPOINT_URL_DYNAMODB"])
        s3 = client("s3", environment["AWS_ENDPOINT_URL_S3"])
        recording.restore(dynamodb, s3, environment["BATON_TABLE"])
        cloud.set_clock(recording.made_at)
        recording.send(client("sqs", environment["AWS_ENDPOINT_URL_SQS"]))
        yield cloud


def test_events_of_the_previous_release_are_handled(continued: RunningCloud, recording: Recording) -> None:
    for noted in recording.events:
        answer = continued.invoke(noted["function"], noted["event"])
        assert not (isinstance(answer, dict) and answer.get("batchItemFailures")), (noted, answer)
        assert not isinstance(answer, str), (noted, answer)


@pytest.mark.parametrize("matter", MATTERS, ids=lambda matter: type(matter).__name__)
def test_what_the_previous_release_has_begun_goes_on(continued: RunningCloud, matter: Matter) -> None:
    matter.go_on(World(continued.url))
