"""Records of sources in DynamoDB, and the buckets that they are read from."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from baton.adapters.aws.s3_documents import S3SourceObjects
from baton.adapters.dynamodb.documents import DynamoSources
from baton.ports.documents.sources import PageUnavailable
from baton_local.resources import create_bucket
from tests.contracts.sources import SourceRooms, SourceStoreContract
from tests.grants.declared import roles, template
from tests.grants.simulator import decide
from tests.grants.watched import watch
from tests.integration.store.conftest import Engine

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture
def rooms(on_dynamodb_local: Engine) -> SourceRooms:
    return SourceRooms(DynamoSources(on_dynamodb_local.table))


class TestSources(SourceStoreContract):
    pass


@pytest.fixture
def bucket(s3: S3Client) -> str:
    name = f"manuals-{uuid.uuid4().hex}"
    create_bucket(s3, name)
    return name


@pytest.fixture
def objects(s3: S3Client) -> S3SourceObjects:
    return S3SourceObjects(s3)


async def test_objects_below_a_prefix_are_listed_with_the_etags_that_they_are_read_with(
    s3: S3Client, objects: S3SourceObjects, bucket: str
) -> None:
    for number in range(1010):
        s3.put_object(Bucket=bucket, Key=f"acme/{number:04}.md", Body=b"x" * (number % 3))
    s3.put_object(Bucket=bucket, Key="acme2/a.md", Body=b"x", ContentType="text/Markdown; charset=utf-8")
    results = await objects.list_objects(bucket, "acme/", limit=2000)
    assert [item.key for item in results] == [f"acme/{number:04}.md" for number in range(1010)]
    assert len(await objects.list_objects(bucket, "acme/", limit=1005)) == 1005
    assert await objects.list_objects(bucket, "globex/", limit=10) == []
    content = await objects.read(bucket, "acme/0002.md", limit=2)
    assert (content.body, content.etag) == (b"xx", results[2].etag)
    assert (await objects.read(bucket, "acme2/a.md", limit=1)).content_type == "text/Markdown; charset=utf-8"


async def test_the_bucket_of_a_deployment_is_read_with_what_its_policy_grants(
    s3: S3Client, objects: S3SourceObjects, bucket: str
) -> None:
    s3.put_object(Bucket=bucket, Key="acme/a.md", Body=b"x")
    with watch("IngestionRole", s3, **{bucket: "manuals"}) as request:
        await objects.list_objects(bucket, "acme/", limit=10)
        await objects.read(bucket, "acme/a.md", limit=10)
    decisions = decide(request, roles(template(SourceBucket="manuals")))
    assert {decision.result for decision in decisions} == {"Allowed"}
    assert {grant.action for decision in decisions for grant in decision.uses} == {"s3:GetObject", "s3:ListBucket"}
    assert {decision.result for decision in decide(request, roles(template()))} == {"ImplicitlyDenied"}


async def test_what_cannot_be_read_says_why(objects: S3SourceObjects, bucket: str, s3: S3Client) -> None:
    s3.put_object(Bucket=bucket, Key="acme/large.md", Body=b"x" * 11)
    with pytest.raises(PageUnavailable, match="more than 10 bytes"):
        await objects.read(bucket, "acme/large.md", limit=10)
    with pytest.raises(PageUnavailable, match="NoSuchKey") as gone:
        await objects.read(bucket, "acme/none.md", limit=10)
    assert gone.value.is_gone
    with pytest.raises(PageUnavailable, match="NoSuchBucket") as lost:
        await objects.list_objects("no-such-bucket-here", "acme/", limit=10)
    assert not lost.value.is_gone
