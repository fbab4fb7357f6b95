"""Stores to check contracts against: in memory, and on DynamoDB Local (large bodies on moto's S3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_testing.fakes.clock import FakeClock
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.contracts.table_stores import TableStores
from tests.engines import TableAt

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


BUCKET = "test-bodies"
SESSION = boto3.session.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)
"""The credentials of requests."""
PATIENT = {"retries": {"mode": "standard", "total_max_attempts": 4}, "max_pool_connections": 64}
"""The product's own retries: some tests lose answers on purpose."""


@dataclass(frozen=True)
class Engine:
    """A table, and the bucket for what is too large for it."""

    table: Table
    s3: S3Client

    def stores(self, clock: FakeClock | None = None) -> Stores:
        """A separate tenant on this engine."""
        return TableStores(self.table, self.s3, BUCKET, clock)


@dataclass(frozen=True)
class NotedTable(Table):
    """A table that notes what its queries have read."""

    read: list[Item] = field(default_factory=list)

    async def query(self, *arguments: Any, **options: Any) -> AsyncGenerator[list[Item], None]:
        async for page in super().query(*arguments, **options):
            self.read.extend(page)
            yield page


@pytest.fixture(scope="session")
def s3(moto_server: str) -> Iterator[S3Client]:
    s3 = client("s3", moto_server)
    create_bucket(s3, BUCKET)
    yield s3
    s3.close()


@pytest.fixture(scope="session")
def on_moto(moto_server: str, new_table: Callable[[str], TableAt], s3: S3Client) -> Iterator[Engine]:
    """A table in moto, for generated cases of the fault suites."""
    yield from _engine(new_table(moto_server), s3)


@pytest.fixture(scope="session")
def on_dynamodb_local(dynamodb_local: str, new_table: Callable[[str], TableAt], s3: S3Client) -> Iterator[Engine]:
    """A table in DynamoDB Local."""
    yield from _engine(new_table(dynamodb_local), s3)


@pytest.fixture(params=["in_memory", "on_dynamodb_local"])
def stores(request: pytest.FixtureRequest) -> Stores:
    """A separate tenant in each store in turn."""
    if request.param == "in_memory":
        return in_memory()
    engine: Engine = request.getfixturevalue(request.param)
    return engine.stores()


def _engine(at: TableAt, s3: S3Client) -> Iterator[Engine]:
    dynamodb = client("dynamodb", at.endpoint, **PATIENT)
    yield Engine(Table.sent_directly(dynamodb, at.name, SESSION), s3)
    dynamodb.close()
