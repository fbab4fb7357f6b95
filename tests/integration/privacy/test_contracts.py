"""Every store of requests and of retention, and everything that removes, keeps its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from baton.adapters.aws.s3_tenant_files import S3TenantFiles
from baton.adapters.dynamodb.bodies import unpack
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.forget_requests import DynamoForgetRequests, DynamoRetentions
from baton.adapters.dynamodb.tenants.tenant_records import DynamoTenantRecords
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import StoredObject, StoredRecord
from baton_local.engines.clients import client
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from tests.contracts.erasure import Erasing, ErasureContract, ObjectErasureContract
from tests.contracts.forgetting import Forgotten, RequestContract, RetentionContract
from tests.contracts.stores import make_answer, make_question
from tests.contracts.tenant_export import Exporting, TenantFilesContract, TenantRecordsContract
from tests.contracts.threads import fork_request
from tests.engines import TableAt
from tests.fakes.erasure import FakeErasure, FakeObjectErasure, FakeRetentions
from tests.fakes.tenant_export import FakeTenantFiles, FakeTenantRecords
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
            await world.stores.commit(lease, make_question(lease), make_answer(lease))

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


def export_in_memory() -> Exporting:
    records, files = FakeTenantRecords(left_out={"piecesOfTheLog": 1}), FakeTenantFiles()

    async def put(scope: Scope, key: str) -> None:
        record = StoredRecord("messages", f"{scope.tenant_id}#t", key, {})
        records.records.setdefault(scope.tenant_id, []).append(record)

    async def upload(scope: Scope, name: str) -> None:
        stored = StoredObject(name, 1, FakeClock().now(), url="http://file")
        files.objects.setdefault(scope.tenant_id, []).append(stored)

    return Exporting(records, files, put, upload)


def export_in_world(world: World) -> Exporting:
    async def put(scope: Scope, key: str) -> None:
        await world.table.put({"PK": f"{scope.tenant_id}#t", "SK": key, "text": "x" * 350_000})

    async def upload(scope: Scope, name: str) -> None:
        world.s3.put_object(Bucket=world.bucket, Key=f"{scope.tenant_id}/{name}", Body=b"x")

    files = S3TenantFiles(world.s3, world.bucket, unpack, page=2)
    return Exporting(DynamoTenantRecords(world.table), files, put, upload)


@pytest.fixture(params=["in_memory", "world"])
def exporting(request: pytest.FixtureRequest) -> Exporting:
    if request.param == "in_memory":
        return export_in_memory()
    return export_in_world(request.getfixturevalue(request.param))


class TestTenantRecords(TenantRecordsContract):
    pass


class TestTenantFiles(TenantFilesContract):
    pass
