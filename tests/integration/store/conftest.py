"""Stores to check contracts against: in memory, and on DynamoDB Local (large bodies on moto's S3)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from baton.adapters.aws_http import send_directly
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.a2a_tasks import DynamoA2ATasks, DynamoPushConfigs
from baton.adapters.dynamodb.agent_definitions import DynamoAgentDefinitions
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.audit import DynamoAuditLog
from baton.adapters.dynamodb.captures import DynamoCaptures
from baton.adapters.dynamodb.episodes import DynamoEpisodes
from baton.adapters.dynamodb.handoffs import DynamoHandoffs, DynamoWorkflows
from baton.adapters.dynamodb.idle_threads import DynamoIdleThreads
from baton.adapters.dynamodb.live import DynamoLiveRegistry, DynamoStreamLog
from baton.adapters.dynamodb.private_skills import DynamoPrivateSkills
from baton.adapters.dynamodb.procedures import DynamoProcedures
from baton.adapters.dynamodb.run_records import DynamoMcpCalls, DynamoRunRecords
from baton.adapters.dynamodb.shards import newest_first
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.thread_store import DynamoThreadStore
from baton.adapters.dynamodb.user_records import DynamoFeedback, DynamoTimeZones
from baton.adapters.s3_records import S3Bodies
from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
from baton.domain.identity import Scope
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_testing.fakes.clock import FakeClock
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.engines import TableAt

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


BUCKET = "test-bodies"
PATIENT = {"retries": {"mode": "standard", "total_max_attempts": 4}, "max_pool_connections": 64}
"""The product's own retries: some tests lose answers on purpose."""


@dataclass(frozen=True)
class Engine:
    """A table, and the bucket for what is too large for it."""

    table: Table
    s3: S3Client

    def stores(self, clock: FakeClock | None = None) -> Stores:
        """A separate tenant on this engine."""
        clock = clock or FakeClock()

        async def audit_records(scope: Scope) -> list[dict[str, Any]]:
            entries = newest_first(self.table, keys.audit_listings(scope), before=None, limit=10)
            found = [await self.table.get({"PK": item["PK"], "SK": item["SK"]}) async for item in entries]
            return [_audit_record(item) for item in found[::-1] if item is not None]

        return Stores(
            DynamoThreadStore(self.table, S3Bodies(self.s3, BUCKET), clock),
            DynamoStreamLog(self.table, clock),
            DynamoLiveRegistry(self.table, clock),
            DynamoAuditLog(self.table, clock),
            DynamoEpisodes(self.table, S3Bodies(self.s3, BUCKET)),
            DynamoIdleThreads(self.table, clock),
            DynamoRunRecords(self.table, S3Bodies(self.s3, BUCKET)),
            DynamoHandoffs(self.table, S3Bodies(self.s3, BUCKET)),
            DynamoWorkflows(self.table, clock),
            DynamoA2ATasks(self.table),
            DynamoPushConfigs(self.table, clock, ReceiverSecrets(lambda: "a secret")),
            DynamoFeedback(self.table),
            DynamoMcpCalls(self.table, clock),
            DynamoTimeZones(self.table, clock),
            DynamoProcedures(self.table, clock),
            DynamoPrivateSkills(self.table, clock),
            DynamoCaptures(self.table, clock),
            DynamoAgentDefinitions(self.table),
            clock,
            audit_records,
        )


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
    send_directly(dynamodb)
    yield Engine(Table.of(dynamodb, at.name), s3)
    dynamodb.close()


def _audit_record(item: dict[str, Any]) -> dict[str, Any]:
    record = {name: item[name] for name in ("user_id", "action", "outcome")}
    return record | {"thread_id": item["PK"].partition("#")[2], "detail": json.loads(item["detail"])}
