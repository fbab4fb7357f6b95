"""Objects in the buckets that sources of documents may read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton.adapters import aws
from baton.domain.errors import StoreUnavailable
from baton.ports.sources import PageContent, PageUnavailable, StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_UNAVAILABLE = "S3 does not answer at the moment."


class S3SourceObjects:
    """``SourceObjects`` by the permissions of the function."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    async def objects(self, bucket: str, prefix: str, *, limit: int) -> Sequence[StoredObject]:
        try:
            return await aws.call(self._list, bucket, prefix, limit)
        except ClientError as error:
            raise PageUnavailable(f"s3://{bucket}/{prefix} cannot be listed: {aws.error_code(error)}.") from error
        except StoreUnavailable as error:
            raise PageUnavailable(_UNAVAILABLE) from error

    async def read(self, bucket: str, key: str, *, limit: int) -> PageContent:
        try:
            return await aws.call(self._read, bucket, key, limit)
        except ClientError as error:
            code = aws.error_code(error)
            raise PageUnavailable(f"S3 answers {code}.", is_gone=code in ("404", "NoSuchKey")) from error
        except StoreUnavailable as error:
            raise PageUnavailable(_UNAVAILABLE) from error

    def _list(self, bucket: str, prefix: str, limit: int) -> list[StoredObject]:
        found: list[StoredObject] = []
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix, PaginationConfig={"MaxItems": limit}
        )
        for page in pages:
            found += [
                StoredObject(each["Key"], each["ETag"].strip('"'), each["Size"]) for each in page.get("Contents", [])
            ]
        return found

    def _read(self, bucket: str, key: str, limit: int) -> PageContent:
        answer = self._client.get_object(Bucket=bucket, Key=key)
        with answer["Body"] as body:
            if answer["ContentLength"] > limit:
                raise PageUnavailable(f"It has more than {limit} bytes.")
            return PageContent(body.read(), answer.get("ContentType", ""), answer["ETag"].strip('"'))
