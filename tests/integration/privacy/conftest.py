"""Whole conversations over real tables and buckets, and what is left of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from baton.adapters.dynamodb.table import Table, deserialize
from baton.domain.tenants.identity import Scope
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.table_stores import TableStores
from tests.engines import TableAt
from tests.fakes.ports import FakePorts
from tests.harness.harness import Harness

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client


@dataclass
class World:
    """A table and a separate versioned bucket, a search index, and the use cases over them."""

    dynamodb: DynamoDBClient
    table_name: str
    s3: S3Client
    bucket: str
    clock: FakeClock = field(default_factory=FakeClock)
    search: FakeSearchIndex = field(default_factory=FakeSearchIndex)

    def __post_init__(self) -> None:
        self.table = Table(self.dynamodb, self.table_name)
        self.stores = TableStores(self.table, self.s3, self.bucket, self.clock)
        self.bodies = self.stores.bodies
        self.harness = Harness(stores=self.stores, objects=self.stores.objects, search=self.search)
        self.ports: FakePorts = self.harness
        self.forgettings, self.app = self.harness.forgettings, self.harness.app
        forgetting = self.app.privacy.forgetting
        self.app.privacy.forgetting = replace(forgetting, waits=replace(forgetting.waits, cancel=0.0))

    async def say(self, scope: Scope, thread_id: str, text: str, message_id: str | None = None) -> None:
        """Run a whole turn."""
        await self.harness.say(message_id or str(uuid.uuid4()), text, scope=scope, thread_id=thread_id)

    async def run(self, scope: Scope, request_id: str, *, most: int = 40) -> list[str]:
        """Carry a request out as the state machine does, without its waits. Returns the steps' answers."""
        messages: list[str] = []
        step = self.app.privacy.forgetting.sweep
        for _ in range(most):
            result = await step(scope, request_id, seconds=60)
            messages.append(result.next.value)
            match result.next.value:
                case "wait":
                    self.clock.advance(self.app.privacy.forgetting.waits.zombies)
                    step = self.app.privacy.forgetting.sweep
                case "sweep":
                    step = self.app.privacy.forgetting.sweep
                case "verify":
                    step = self.app.privacy.forgetting.verify
                case _:
                    return messages
        raise AssertionError(f"no end: {messages}")

    def items(self) -> list[dict[str, Any]]:
        """Return all items of the table."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.table_name, ConsistentRead=True)
        return [deserialize(item) for page in pages for item in page["Items"]]

    def versions(self) -> list[str]:
        """The keys of all versions and delete markers in the bucket."""
        pages = self.s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket)
        return [
            version["Key"] for page in pages for version in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        ]


@pytest.fixture(scope="session")
def objects_client(moto_server: str) -> Iterator[S3Client]:
    s3 = client("s3", moto_server)
    yield s3
    s3.close()


@pytest.fixture(scope="session")
def table_client(dynamodb_local: str) -> Iterator[DynamoDBClient]:
    dynamodb = client("dynamodb", dynamodb_local, max_pool_connections=64)
    yield dynamodb
    dynamodb.close()


@pytest.fixture(scope="session")
def new_bucket(objects_client: S3Client) -> Callable[[], str]:
    """Make a versioned bucket; its name."""

    def make() -> str:
        bucket = f"privacy-{uuid.uuid4()}"
        create_bucket(objects_client, bucket)
        objects_client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        return bucket

    return make


@pytest.fixture(scope="session")
def new_world(
    dynamodb_local: str,
    new_table: Callable[[str], TableAt],
    new_bucket: Callable[[], str],
    table_client: DynamoDBClient,
    objects_client: S3Client,
) -> Callable[[], World]:
    """Make worlds on DynamoDB Local and moto. Only clients are shared: a test may look at everything in its world."""

    def make() -> World:
        return World(table_client, new_table(dynamodb_local).name, objects_client, new_bucket())

    return make


@pytest.fixture
def world(new_world: Callable[[], World]) -> World:
    return new_world()
