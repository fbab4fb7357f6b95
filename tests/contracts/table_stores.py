"""Stores of a deployment, on a table and a bucket."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from baton.adapters.aws.s3_erasure import S3Erasure
from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.a2a_tasks import DynamoPushConfigs
from baton.adapters.dynamodb.shards import read_newest_first
from baton.adapters.dynamodb.table import Table
from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
from baton.domain.tenants.identity import Scope
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import Stores

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class TableStores(Stores):
    """A separate tenant on a table. Large bodies are in the bucket."""

    def __init__(self, table: Table, s3: S3Client, bucket: str, clock: FakeClock | None = None) -> None:
        super().__init__(table=table, bodies=S3Bodies(s3, bucket), clock=clock or FakeClock())

    @cached_property
    def push_configs(self) -> DynamoPushConfigs:
        return DynamoPushConfigs(self.table, self.clock, ReceiverSecrets(lambda: "a secret"))

    @cached_property
    def objects(self) -> S3Erasure:
        return S3Erasure(self.bodies.client, self.bodies.bucket)

    async def audit_records(self, scope: Scope) -> list[dict[str, Any]]:
        entries = read_newest_first(self.table, keys.audit_listings(scope), before=None, limit=10)
        results = [await self.table.get({"PK": item["PK"], "SK": item["SK"]}) async for item in entries]
        return [_audit_record(item) for item in results[::-1] if item is not None]


def _audit_record(item: dict[str, Any]) -> dict[str, Any]:
    record = {name: item[name] for name in ("user_id", "action", "outcome")}
    return record | {"thread_id": item["PK"].partition("#")[2], "detail": json.loads(item["detail"])}
