"""Every store of requests and of retention, and everything that removes, keeps its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.forget_requests import DynamoForgetRequests, DynamoRetentions
from baton.domain.tenants.identity import Scope
from baton_local.engines.clients import client
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from tests.contracts.erasure import Erasing, ErasureContract, ObjectErasureContract
from tests.contracts.forgetting import Forgotten, RequestContract, RetentionContract
from tests.contracts.stores import answered, said
from tests.contracts.threads import fork_request
from tests.engines import TableAt
from tests.fakes.erasure import FakeErasure, FakeObjectErasure, FakeRetentions
from tests.integration.privacy.conftest import World

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture(params=["in_memory", "dynamodb_local_table"])
def forgotten(request: pytest.FixtureRequest) -> Iterator[Forgotten]:
    clock = FakeClock()
    if request.param == "in_memory":
        yield Forgotten(FakeForgetRequests(), FakeRetentions(), clock)
        return
    at: TableAt = request.getfixturevalue(request.param)
    dynamodb = client("dynamodb", at.endpoint)
    table = Table(dynamodb, at.name)
    yield Forgotten(DynamoForgetRequests(table, clock), DynamoRetentions(table, clock), clock)
    dynamodb.close()


class TestRequests(RequestContract):
    pass


class TestRetention(RetentionContract):
    pass


def in_memory() -> Erasing:
    clock = FakeClock()
    erasure, objects = FakeErasure(clock), FakeObjectErasure()

    async def talk(scope: Scope, thread_id: str, parent: str | None) -> None:
        erasure.put(scope, thread_id, items=2, parent=parent)

    async def upload(scope: Scope, thread_id: str) -> None:
        objects.versions[scope.tenant_id, thread_id] += 2

    return Erasing(erasure, objects, clock, talk, upload)


def in_world(world: World) -> Erasing:
    async def talk(scope: Scope, thread_id: str, parent: str | None) -> None:
        if parent is None:
            await world.stores.turn(thread_id, scope=scope)
        else:
            lease = await world.stores.store.acquire(scope, fork_request(thread_id, parent))
            await world.stores.commit(lease, said(lease), answered(lease))

    async def upload(scope: Scope, thread_id: str) -> None:
        key = f"{scope.tenant_id}/{thread_id}/files/file_1"
        world.s3.put_object(Bucket=world.bucket, Key=key, Body=b"one")
        world.s3.delete_object(Bucket=world.bucket, Key=key)

    return Erasing(world.ports.erasure, world.ports.objects, world.clock, talk, upload)


@pytest.fixture(scope="module")
def bucket(new_bucket: Callable[[], str]) -> str:
    """A versioned bucket for all tests: each has separate tenants."""
    return new_bucket()


@pytest.fixture(params=["in_memory", "dynamodb_local_table"])
def erasing(request: pytest.FixtureRequest, objects_client: S3Client, bucket: str) -> Iterator[Erasing]:
    if request.param == "in_memory":
        yield in_memory()
        return
    at: TableAt = request.getfixturevalue(request.param)
    dynamodb = client("dynamodb", at.endpoint)
    yield in_world(World(dynamodb, at.name, objects_client, bucket))
    dynamodb.close()


class TestErasure(ErasureContract):
    pass


class TestObjectErasure(ObjectErasureContract):
    pass
