"""The bucket's list counts the objects of one tenant, page by page."""

from __future__ import annotations

from baton.adapters.aws import s3_usage
from baton.adapters.aws.s3_usage import S3TenantObjects
from baton.ports.tenants.usage import StoredObjects
from tests.integration.store.conftest import BUCKET, Engine


async def test_each_object_of_the_tenant_is_counted_once(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    objects = S3TenantObjects(on_dynamodb_local.s3, BUCKET, page=1)
    count = 2 * s3_usage.REQUESTS + 1
    for number in range(count):
        on_dynamodb_local.s3.put_object(Bucket=BUCKET, Key=f"{stores.tenant}/t/files/{number:03}", Body=b"12345")
    on_dynamodb_local.s3.put_object(Bucket=BUCKET, Key=f"{stores.stranger.tenant_id}/t/files/1", Body=b"not ours")
    after: str | None = None
    counted = []
    while not counted or after is not None:
        stored, after = await objects.count(stores.ada, after)
        counted.append(stored)
    assert counted == [
        StoredObjects(s3_usage.REQUESTS, 5 * s3_usage.REQUESTS),
        StoredObjects(s3_usage.REQUESTS, 5 * s3_usage.REQUESTS),
        StoredObjects(1, 5),
    ]
