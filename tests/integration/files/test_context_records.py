"""The stores of inspector records: in memory, and in S3 as moto serves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from baton.adapters.aws import client
from baton.adapters.s3_records import S3ContextRecords
from baton.domain.errors import StoreUnavailable
from baton.ports.run_records import ContextRecords
from baton_testing.fakes.context_records import FakeContextRecords
from tests.contracts.context_records import ADA, THREAD, ContextRecordsContract

BUCKET = "contexts"


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    made = client("s3", moto)
    made.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    yield made
    boto3.resource("s3", endpoint_url=moto).Bucket(BUCKET).objects.delete()
    made.delete_bucket(Bucket=BUCKET)
    made.close()


@pytest.fixture(params=["memory", "s3"])
def contexts(request: pytest.FixtureRequest) -> ContextRecords:
    if request.param == "memory":
        return FakeContextRecords()
    return S3ContextRecords(request.getfixturevalue("s3"), BUCKET)


class TestContextRecords(ContextRecordsContract):
    pass


async def test_a_damaged_record_is_reported_as_such(s3: Any) -> None:
    contexts = S3ContextRecords(s3, BUCKET)
    await contexts.put(ADA, THREAD, "run-1", b"{}")
    [stored] = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    assert stored["Key"].startswith(f"acme/{THREAD}/contexts/")
    s3.put_object(Bucket=BUCKET, Key=stored["Key"], Body=b"no gzip")
    with pytest.raises(StoreUnavailable):
        await contexts.get(ADA, THREAD, "run-1")
