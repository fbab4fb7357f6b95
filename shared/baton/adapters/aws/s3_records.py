"""Bodies too large for an item (DynamoDB's limit is 400 KB), in S3."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from baton.adapters.aws.blocking_calls import call
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class S3Bodies:
    """Large bodies below ``<tenant>/<thread>/bodies/``, named by their checksums, so that writing twice is harmless."""

    client: S3Client
    bucket: str

    async def put(self, scope: Scope, thread_id: str, body: bytes) -> str:
        """Store ``body`` and return its SHA-256, which is its name."""
        digest = hashlib.sha256(body).hexdigest()
        await call(self.client.put_object, Bucket=self.bucket, Key=_make_key(scope, thread_id, digest), Body=body)
        return digest

    async def get(self, scope: Scope, thread_id: str, digest: str) -> bytes:
        """Read a body. Raises ``StoreUnavailable`` in an outage and if its checksum does not match.

        A body that does not exist raises botocore's ``ClientError``.
        """
        body = await call(read_object, self.client, self.bucket, _make_key(scope, thread_id, digest))
        if hashlib.sha256(body).hexdigest() != digest:
            raise StoreUnavailable("A stored message is damaged. Please report this to the operator.")
        return body


def read_object(client: S3Client, bucket: str, key: str) -> bytes:
    """Return the content of an object. Blocks. Raises botocore's errors."""
    answer = client.get_object(Bucket=bucket, Key=key)
    with answer["Body"] as body:
        return body.read()


def _make_key(scope: Scope, thread_id: str, digest: str) -> str:
    return f"{scope.tenant_id}/{thread_id}/bodies/{digest}"
