"""Whatever is closed and forgotten, and wherever workers die: nothing said is lost, and nothing forgotten is left."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from tests.embedded_index import make_embedded_index, new_bucket
from tests.engines import TableAt
from tests.faults import counts
from tests.faults.state_machines.memory_machine import MemoryMachine
from tests.faults.state_machines.worlds import MemoryWorld

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

HOW = settings(
    max_examples=counts.scale(3),
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


@pytest.fixture
def make_world(
    dynamodb_local: str, new_table: Callable[[str], TableAt], s3: S3Client
) -> Iterator[Callable[[], MemoryWorld]]:
    dynamodb = client("dynamodb", dynamodb_local, max_pool_connections=64)
    bucket, table = f"memories-{uuid.uuid4()}", new_table(dynamodb_local).name
    create_bucket(s3, bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    search_bucket = new_bucket(s3)
    index = cast("Any", make_embedded_index(s3, search_bucket))
    yield lambda: MemoryWorld(dynamodb, table, s3, bucket, search=index, search_bucket=search_bucket)
    dynamodb.close()


def test_closing_recall_and_forgetting(make_world: Callable[[], MemoryWorld]) -> None:
    class Machine(MemoryMachine):
        def __init__(self) -> None:
            counts.state_runs["memories"] += 1
            super().__init__(make_world)

    run_state_machine_as_test(Machine, settings=HOW)
