"""Bodies too large for an item (DynamoDB's limit is 400 KB) and the Context Inspector's records, in S3."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton.adapters.aws import call, error_code
from baton.concurrency import off_loop
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class S3Bodies:
    """Large bodies below ``<tenant>/<thread>/bodies/``, named by their checksum, so writing twice is harmless."""

    client: S3Client
    bucket: str

    async def put(self, scope: Scope, thread_id: str, body: bytes) -> str:
        """Store ``body`` and return its SHA-256, which is its name."""
        digest = hashlib.sha256(body).hexdigest()
        await call(self.client.put_object, Bucket=self.bucket, Key=_key(scope, thread_id, digest), Body=body)
        return digest

    async def get(self, scope: Scope, thread_id: str, digest: str) -> bytes:
        """Read a body. Raises ``StoreUnavailable`` if its checksum does not match."""
        answer = await call(self.client.get_object, Bucket=self.bucket, Key=_key(scope, thread_id, digest))
        body: bytes = await call(answer["Body"].read)
        if hashlib.sha256(body).hexdigest() != digest:
            raise StoreUnavailable("A stored message is damaged. Please report this to the operator.")
        return body


def _key(scope: Scope, thread_id: str, digest: str) -> str:
    return f"{scope.tenant_id}/{thread_id}/bodies/{digest}"


LEVEL = 1
"""Compression level, because every turn pays for it: 5 takes more than twice as long and saves another eighth."""


@dataclass(frozen=True, slots=True)
class S3ContextRecords:
    """``ContextRecords`` below ``<tenant>/<thread>/contexts/``, next to everything else of the thread."""

    client: S3Client
    bucket: str

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: bytes) -> None:
        await call(self._put, _record_key(scope, thread_id, run_id), record)

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> bytes | None:
        try:
            answer = await call(self.client.get_object, Bucket=self.bucket, Key=_record_key(scope, thread_id, run_id))
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                return None
            raise
        body: bytes = await call(answer["Body"].read)
        try:
            return await off_loop(len(body), gzip.decompress, body)
        except (OSError, EOFError):
            raise StoreUnavailable("A stored record is damaged. Please report this to the operator.") from None

    def _put(self, key: str, record: bytes) -> None:
        """Compress the record and store it, in the one thread that the request needs anyway."""
        body = gzip.compress(record, LEVEL, mtime=0)
        self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType="application/gzip")


def _record_key(scope: Scope, thread_id: str, run_id: str) -> str:
    # Clients choose run ids, which may contain anything printable.
    return f"{scope.tenant_id}/{thread_id}/contexts/{hashlib.sha256(run_id.encode()).hexdigest()}.json.gz"
